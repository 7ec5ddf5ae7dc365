//! What looks like a path, and where one may end.

use crate::slice;

/// Extensions that tell a file from prose where nothing else does. They never decide how a path is cut if it is quoted or
/// stands alone, and never whether a file may be sent.
const KNOWN: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "tif", "svg", "heic", "ico", "mp4", "mov",
    "avi", "mkv", "webm", "3gp", "mp3", "wav", "ogg", "opus", "m4a", "flac", "aac", "pdf", "docx",
    "doc", "odt", "rtf", "txt", "md", "epub", "xlsx", "xls", "ods", "csv", "tsv", "json", "xml",
    "yaml", "yml", "pptx", "ppt", "odp", "key", "kmz", "kml", "geojson", "gpx", "zip", "tar", "gz",
    "tgz", "bz2", "xz", "7z", "rar", "apk", "ipa", "html", "htm", "log", "sql", "ics", "parquet",
];

/// Blanks that can stand inside a line.
pub(super) fn blank(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\r' | '\u{a0}' | '\u{3000}')
}

/// Scripts that put no blank between words: a directive may follow them directly.
pub(super) fn unspaced(sign: char) -> bool {
    matches!(sign, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{0e00}'..='\u{0eff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Punctuation that ends a path in scripts of full width.
pub(super) fn wide_stop(sign: char) -> bool {
    matches!(
        sign,
        '。' | '，'
            | '：'
            | '、'
            | '；'
            | '！'
            | '？'
            | '「'
            | '」'
            | '『'
            | '』'
            | '【'
            | '】'
            | '（'
            | '）'
            | '《'
            | '》'
            | '…'
            | '“'
            | '”'
    )
}

/// Whether the text ends in something like an extension: one to eight letters or digits, one of them a letter.
pub(super) fn has_extension(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.chars().all(|sign| sign.is_ascii_alphanumeric())
            && (extension.chars().any(|sign| sign.is_ascii_alphabetic()))
    })
}

/// Whether the text ends in an extension that people know.
pub(super) fn has_known_extension(path: &str) -> bool {
    has_extension(path)
        && path.rsplit_once('.').is_some_and(|(_, extension)| {
            KNOWN
                .iter()
                .any(|known| known.eq_ignore_ascii_case(extension))
        })
}

/// The lengths of known extensions that `after_dot` begins with, though the word goes on.
pub(super) fn glued_extensions(after_dot: &str) -> impl Iterator<Item = usize> + '_ {
    KNOWN.iter().filter_map(|known| {
        let goes_on = slice::from(after_dot, known.len())
            .chars()
            .next()
            .is_some_and(char::is_alphanumeric);
        (slice::begins(after_dot, known) && goes_on).then_some(known.len())
    })
}

/// Whether the text begins like a path of this kind of machine: `/x`, `~/x`, `./x`, `../x`, `file://x`.
pub(super) fn rooted(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('/') {
        return rest
            .chars()
            .next()
            .is_some_and(|sign| !sign.is_whitespace() && sign != '/');
    }
    ["~/", "./", "../"]
        .iter()
        .any(|root| text.starts_with(root))
        || slice::begins(text, "file://")
}

/// Whether the text begins like a path of Windows: `C:\x`, `C:/x`, `\\host`.
pub(super) fn windows(text: &str) -> bool {
    let mut signs = text.chars();
    match (signs.next(), signs.next(), signs.next()) {
        (Some('\\'), Some('\\'), _) => true,
        (Some(letter), Some(':'), Some('\\' | '/')) => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// Whether the text begins like any path that leaves no doubt.
pub(super) fn certain(text: &str) -> bool {
    rooted(text) || windows(text)
}

/// Signs that no word meant as a path holds.
pub(super) fn insane(sign: char) -> bool {
    matches!(sign, ':' | '"' | '<' | '>' | '|' | '`' | '*')
}

/// Whether a word without blanks can be a path from the working directory.
pub(super) fn relative(word: &str, after_blank: bool) -> bool {
    let sane = !word.contains(insane)
        && word
            .chars()
            .next()
            .is_some_and(|sign| sign.is_alphanumeric() || matches!(sign, '_' | '.'));
    let parts = word.split('/').all(|part| !part.is_empty());
    sane && if after_blank {
        has_known_extension(word)
    } else {
        has_extension(word) || (word.contains('/') && parts)
    }
}

/// Takes `file://` away and reads `%20` and its like.
pub(super) fn plain(path: &str) -> String {
    if !slice::begins(path, "file://") {
        return path.to_owned();
    }
    let rest = slice::from(path, "file://".len());
    let rest = if slice::begins(rest, "localhost/") {
        slice::from(rest, "localhost".len())
    } else {
        rest
    };
    let mut bytes = Vec::with_capacity(rest.len());
    let mut input = rest.bytes();
    while let Some(byte) = input.next() {
        let mut ahead = input.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        if byte == b'%'
            && let (Some(high), Some(low)) = (digit(ahead.next()), digit(ahead.next()))
            && let Ok(value) = u8::try_from(high * 16 + low)
        {
            bytes.push(value);
            input = ahead;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_not_text| rest.to_owned())
}

/// Whether the end of `before` lets a directive begin: not in the middle of a word or a path.
pub(super) fn word_can_begin(before: &str) -> bool {
    let mut signs = before.chars().rev();
    let word = |sign: char| sign.is_alphanumeric() && !unspaced(sign);
    match signs.next() {
        None => true,
        Some('/' | '\\' | '@' | '#' | '$' | '%' | '&' | '=') => false,
        Some('_' | '-') => !signs
            .find(|sign| !matches!(sign, '_' | '-'))
            .is_some_and(word),
        Some(sign) => !word(sign),
    }
}
