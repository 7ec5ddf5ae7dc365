//! What a message holds: words, pictures, files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Refusal;
use super::fields::{Fields, wrong};
use crate::kind;

/// Pictures that models read.
const PICTURES: [(&str, &str); 4] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];

/// A file that came inside a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Enclosed {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Words, with a mark where each file stood.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) text: String,
    /// Which of all files of the request are this message's.
    pub(crate) files: usize,
}

/// Reads a message's content; files are added to `enclosed`, of which the request may hold `most`.
pub(crate) fn read(
    content: Option<Value>,
    place: &str,
    enclosed: &mut Vec<Enclosed>,
    most: usize,
) -> Result<Content, Refusal> {
    let mut read = Content::default();
    match content {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => read.text = text,
        Some(Value::Array(parts)) => {
            for (number, part) in parts.into_iter().enumerate() {
                let place = format!("{place}[{number}]");
                one(Fields::of(part, &place)?, &mut read, enclosed, most)?;
            }
        }
        Some(other) => return Err(wrong(place, "a string or an array of parts", &other)),
    }
    Ok(read)
}

fn one(
    mut part: Fields,
    read: &mut Content,
    enclosed: &mut Vec<Enclosed>,
    most: usize,
) -> Result<(), Refusal> {
    let kind = part.string("type")?.ok_or_else(|| part.missing("type"))?;
    let file = match kind.as_str() {
        "text" | "refusal" => {
            let text = part.string(&kind)?.ok_or_else(|| part.missing(&kind))?;
            if !read.text.is_empty() {
                read.text.push('\n');
            }
            read.text.push_str(&text);
            return Ok(());
        }
        "image_url" => picture(part, enclosed.len() + 1)?,
        "file" => file(part, enclosed.len() + 1)?,
        _ => {
            return Err(Refusal::field(
                part.name("type"),
                format!(
                    "parts of the type '{kind}' can't be taken: 'text', 'image_url' and 'file' can"
                ),
            ));
        }
    };
    if enclosed.len() >= most {
        return Err(Refusal::field(
            "messages",
            format!("a request takes at most {most} pictures and files"),
        ));
    }
    enclosed.push(file);
    read.files += 1;
    Ok(())
}

fn picture(mut part: Fields, number: usize) -> Result<Enclosed, Refusal> {
    let mut image = part
        .object("image_url")?
        .ok_or_else(|| part.missing("image_url"))?;
    let url = image.string("url")?.ok_or_else(|| image.missing("url"))?;
    let place = image.name("url");
    let bytes = data(&url, &place)?;
    let found = infer::get(&bytes).map(|kind| kind.mime_type());
    let ending = PICTURES
        .iter()
        .find_map(|(mime, ending)| (found == Some(*mime)).then_some(*ending));
    let ending = ending.ok_or_else(|| {
        Refusal::field(
            place,
            "a picture must be PNG, JPEG, GIF or WebP, and its bytes are not",
        )
    })?;
    Ok(Enclosed {
        name: format!("picture-{number}.{ending}"),
        bytes,
    })
}

fn file(mut part: Fields, number: usize) -> Result<Enclosed, Refusal> {
    let mut file = part.object("file")?.ok_or_else(|| part.missing("file"))?;
    if file.take("file_id").is_some() {
        let text = "files are not uploaded ahead here: send the bytes as 'file_data'";
        return Err(Refusal::field(file.name("file_id"), text));
    }
    let name = file.string("filename")?;
    let url = file
        .string("file_data")?
        .ok_or_else(|| file.missing("file_data"))?;
    let bytes = data(&url, &file.name("file_data"))?;
    let name = name.map_or_else(
        || format!("file-{number}.bin"),
        |name| kind::shown_name(&name),
    );
    Ok(Enclosed { name, bytes })
}

/// The bytes of a `data:` URL.
fn data(url: &str, place: &str) -> Result<Vec<u8>, Refusal> {
    let Some(rest) = url.strip_prefix("data:") else {
        let text = "only 'data:' URLs are taken: the gateway fetches nothing for a request, so send the bytes in base64";
        return Err(Refusal::field(place, text));
    };
    let base64 = rest
        .split_once(',')
        .filter(|(kind, _)| kind.ends_with(";base64"))
        .map(|(_, base64)| base64)
        .ok_or_else(|| Refusal::field(place, "a 'data:' URL must be 'data:TYPE;base64,BYTES'"))?;
    let bytes = STANDARD
        .decode(base64.trim())
        .map_err(|error| Refusal::field(place, format!("the base64 can't be read: {error}")))?;
    if bytes.is_empty() {
        return Err(Refusal::field(place, "it holds no bytes"));
    }
    Ok(bytes)
}
