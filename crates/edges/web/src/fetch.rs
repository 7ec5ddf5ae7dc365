//! One answer of the web: asked for, bounded, unpacked.

use std::time::Duration;

use bytes::BytesMut;
use net::{Client, NetError, Response};
use tool::{Download, File, Page, ToolError};
use url::Url;

use crate::charset::Declared;
use crate::kind::{ContentType, Kind, sniffed};
use crate::page::Readable;
use crate::unpack::{Packed, Unpacked, unpacked};

/// Longest address that is asked.
const ADDRESS: usize = 4_096;
/// Most bytes of a page: on the way, and unpacked.
const PAGE: usize = 5 << 20;
/// How long a page may take, from the name to its last byte.
const PAGE_WITHIN: Duration = Duration::from_secs(30);
/// The same for a file.
const FILE_WITHIN: Duration = Duration::from_secs(120);

/// What was fetched of a page, before anybody read it.
pub(crate) struct Fetched {
    pub(crate) address: Url,
    pub(crate) mime: String,
    pub(crate) body: Body,
    pub(crate) cut: bool,
}

/// What it is.
pub(crate) enum Body {
    /// HTML.
    Page(String),
    /// Text as it is.
    Text(String),
    /// No text.
    File,
}

impl Fetched {
    /// The page as the agent has it; `read` is what a reader sees of HTML.
    pub(crate) fn page(self, read: Option<Readable>) -> Page {
        let (title, text, more) = match (self.body, read) {
            (Body::Page(_), Some(read)) => (read.title, read.text, read.cut),
            (Body::Text(text), _) => (None, text, false),
            (Body::Page(_) | Body::File, _) => (None, String::new(), false),
        };
        Page {
            address: self.address.into(),
            title,
            mime: self.mime,
            text,
            cut: self.cut || more,
        }
    }
}

/// The address as a model writes it: without `https://` it is taken for that.
pub(crate) fn address(written: &str) -> Result<Url, ToolError> {
    let written = written.trim();
    if written.len() > ADDRESS {
        return Err(ToolError::Failed(format!(
            "the address is longer than {ADDRESS} characters"
        )));
    }
    let whole = if written.contains("://") {
        written.to_owned()
    } else {
        format!("https://{written}")
    };
    let url = Url::parse(&whole).map_err(|error| {
        ToolError::Failed(format!(
            "this is no address of the web ({error}); it looks like https://example.org/page"
        ))
    })?;
    if matches!(url.scheme(), "http" | "https") {
        return Ok(url);
    }
    Err(ToolError::Forbidden(
        "only http:// and https:// are asked".to_owned(),
    ))
}

/// Fetches a page. Files are left where they are.
pub(crate) async fn page(client: &Client, url: &Url) -> Result<Fetched, ToolError> {
    let accept = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5";
    let answer = ask(client, url, accept, PAGE_WITHIN).await?;
    let address = Url::parse(answer.address()).unwrap_or_else(|_same| url.clone());
    let declared = ContentType::parse(answer.header("content-type"));
    let encoding = answer
        .header("content-encoding")
        .unwrap_or_default()
        .to_owned();
    if declared.kind() == Some(Kind::File) {
        return Ok(Fetched {
            address,
            mime: declared.mime,
            body: Body::File,
            cut: false,
        });
    }
    let (packed, whole) = body(answer, url, PAGE).await?;
    let Unpacked { bytes, cut } =
        unpacked(&packed, whole, &encoding, PAGE).map_err(ToolError::Failed)?;
    let (kind, mime) = match declared.kind() {
        Some(kind) => (kind, declared.mime.clone()),
        None => {
            let (kind, mime) = sniffed(&bytes);
            (kind, mime.to_owned())
        }
    };
    let text =
        |declares: Declared| crate::charset::decoded(&bytes, declared.charset.as_deref(), declares);
    let body = match kind {
        Kind::Page => Body::Page(text(Declared::InTheText)),
        Kind::Text if mime.ends_with("xml") => Body::Text(text(Declared::InTheText)),
        Kind::Text => Body::Text(text(Declared::Nowhere)),
        Kind::File => Body::File,
    };
    Ok(Fetched {
        address,
        mime,
        body,
        cut,
    })
}

/// Fetches what is there, whole, at most `limit` bytes.
pub(crate) async fn file(client: &Client, url: &Url, limit: usize) -> Result<Download, ToolError> {
    let answer = ask(client, url, "*/*", FILE_WITHIN).await?;
    let too_large = || {
        ToolError::Failed(format!(
            "the file is larger than {limit} bytes, which is the most that is taken"
        ))
    };
    let address = Url::parse(answer.address()).unwrap_or_else(|_same| url.clone());
    let declared = ContentType::parse(answer.header("content-type"));
    let encoding = answer
        .header("content-encoding")
        .unwrap_or_default()
        .to_owned();
    let name = name(answer.header("content-disposition"), &address);
    let (packed, whole) = body(answer, url, limit).await?;
    if whole == Packed::Cut {
        return Err(too_large());
    }
    let Unpacked { bytes, cut } =
        unpacked(&packed, whole, &encoding, limit).map_err(ToolError::Failed)?;
    if cut {
        return Err(too_large());
    }
    let mime = if declared.mime.is_empty() {
        sniffed(&bytes).1.to_owned()
    } else {
        declared.mime
    };
    Ok(Download {
        address: address.into(),
        file: File { name, mime, bytes },
    })
}

async fn ask(
    client: &Client,
    url: &Url,
    accept: &str,
    within: Duration,
) -> Result<Response, ToolError> {
    let answer = client
        .get(url.as_str())
        .header("accept", accept)
        .header("accept-encoding", "gzip, deflate")
        .header("accept-language", "en, *;q=0.5")
        .total_timeout(within)
        .send()
        .await
        .map_err(|error| failed(url, error))?;
    if answer.is_success() {
        return Ok(answer);
    }
    Err(refused(url, &answer))
}

/// At most `limit` bytes of a body, and whether that was all.
async fn body(
    mut answer: Response,
    url: &Url,
    limit: usize,
) -> Result<(BytesMut, Packed), ToolError> {
    let mut bytes = BytesMut::new();
    while let Some(piece) = answer.chunk().await.map_err(|error| failed(url, error))? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > limit {
            bytes.truncate(limit);
            return Ok((bytes, Packed::Cut));
        }
    }
    Ok((bytes, Packed::Whole))
}

fn site(url: &Url) -> &str {
    url.host_str().unwrap_or("the site")
}

fn failed(url: &Url, error: NetError) -> ToolError {
    let site = site(url);
    match error {
        NetError::Forbidden { cause } => {
            ToolError::Forbidden(format!("{site} was not read: {cause}"))
        }
        NetError::BadUrl { cause } => {
            ToolError::Failed(format!("the address can't be used: {cause}"))
        }
        NetError::Timeout { after, .. } => ToolError::Failed(format!(
            "{site} did not answer within {} seconds",
            after.as_secs()
        )),
        error @ (NetError::Build { .. }
        | NetError::NotSent { .. }
        | NetError::Source { .. }
        | NetError::Ambiguous { .. }
        | NetError::TooLarge { .. }
        | NetError::NotJson { .. }) => ToolError::Failed(format!("{site}: {error}")),
    }
}

fn refused(url: &Url, answer: &Response) -> ToolError {
    let (site, status) = (site(url), answer.status());
    let why = match status {
        300..=399 => "it leads on without saying where to",
        401 => "it wants a login",
        403 => "it does not show this, or not to programs",
        404 | 410 => "there is nothing at this address",
        429 => "it was asked too often; try another site, or this one later",
        500..=599 => "it is out of order; try again later",
        _ => "it refused the request",
    };
    ToolError::Failed(format!("{site} answered {status}: {why}"))
}

/// Longest name of a file, in characters.
const NAME: usize = 120;

/// A name for a file: what the site calls it, or the end of its address. No path.
fn name(disposition: Option<&str>, address: &Url) -> String {
    let said = disposition.and_then(|header| {
        let (_, rest) = header.split_once("filename=")?;
        let value = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split(';').next(),
        };
        value.map(str::to_owned)
    });
    let last = || {
        let last = address.path_segments()?.rfind(|part| !part.is_empty())?;
        Some(percent_decoded(last))
    };
    let name = said.or_else(last).unwrap_or_default();
    let name: String = name
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|sign| sign.is_alphanumeric() || " ._-()+,".contains(*sign))
        .take(NAME)
        .collect();
    let name = name.trim_matches([' ', '.']);
    if name.is_empty() {
        "download".to_owned()
    } else {
        name.to_owned()
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        for (disposition, address, expected) in [
            (None, "https://s.example/a/report.pdf?x=1", "report.pdf"),
            (
                None,
                "https://s.example/a/b%C3%BCro%20plan.pdf",
                "büro plan.pdf",
            ),
            (None, "https://s.example/a/%2e%2e%2fetc%2fpasswd", "passwd"),
            (None, "https://s.example/", "download"),
            (None, "https://s.example/%", "download"),
            (
                Some("attachment; filename=\"q 1.csv\""),
                "https://s.example/x",
                "q 1.csv",
            ),
            (
                Some("attachment; filename=q.csv; size=3"),
                "https://s.example/x",
                "q.csv",
            ),
            (
                Some("attachment; filename=\"../../.bashrc\""),
                "https://s.example/x",
                "bashrc",
            ),
            (
                Some("attachment; filename=\"a\u{202e}fdp.exe\""),
                "https://s.example/x",
                "afdp.exe",
            ),
            (Some("inline"), "https://s.example/x.txt", "x.txt"),
        ] {
            let address = Url::parse(address).unwrap();
            assert_eq!(
                name(disposition, &address),
                expected,
                "{disposition:?} {address}"
            );
        }
    }

    #[test]
    fn addresses_as_models_write_them() {
        for (written, expected) in [
            ("https://a.example/x", Some("https://a.example/x")),
            (" http://a.example ", Some("http://a.example/")),
            ("a.example/x?y", Some("https://a.example/x?y")),
            ("ftp://a.example/", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            let url = address(written).ok().map(String::from);
            assert_eq!(url.as_deref(), expected, "{written}");
        }
        assert!(address(&"a".repeat(5_000)).is_err());
    }
}
