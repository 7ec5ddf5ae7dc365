//! `web_fetch`, `web_search`: the web as the model reads it, marked as somebody else's words.

use std::sync::Arc;

use redact::Redactor;
use sandbox::{WriteMode, size_text};
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{Hit, Page, Web};

use super::untrusted::marked;
use super::{Bench, path, read};

/// Characters of a page that are shown in one go, where the model's window has room for them.
const SHOWN: usize = 15_000;
/// What part of them is its end, where it is read from its beginning.
const END: usize = 5;
/// Characters that stand around a page: marks, its address, its title, how to read on.
const AROUND: usize = 1_000;
/// Hits of a search.
const HITS: usize = 8;
/// How often an address may have been escaped anew.
const ESCAPED: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchArguments {
    url: String,
    offset: Option<usize>,
    save_to: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
}

impl Bench<'_> {
    pub(super) async fn web_fetch(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: FetchArguments = read(arguments)?;
        let web = self.web()?;
        self.holds_no_secret(&arguments.url)?;
        if let Some(target) = &arguments.save_to {
            return self.save(web.as_ref(), &arguments.url, target).await;
        }
        let page = web
            .fetch(&arguments.url)
            .await
            .map_err(|error| error.to_string())?;
        let most = SHOWN.min(self.room.saturating_sub(AROUND)).max(AROUND);
        shown(&page, arguments.offset.unwrap_or_default(), most)
    }

    pub(super) async fn web_search(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: SearchArguments = read(arguments)?;
        let web = self.web()?;
        self.holds_no_secret(&arguments.query)?;
        let hits = web
            .search(&arguments.query, HITS)
            .await
            .map_err(|error| error.to_string())?;
        if hits.is_empty() {
            return Ok("nothing was found".to_owned());
        }
        Ok(marked("web search", &listed(&hits)))
    }

    fn web(&self) -> Result<&Arc<dyn Web>, String> {
        let web = self.tenant.web.as_ref();
        web.ok_or_else(|| {
            "the web is not open to this profile; the owner can open it under `web` in tidings.toml"
                .to_owned()
        })
    }

    /// Fetches a file into the sandbox. `target` may be a folder, with a slash at its end.
    async fn save(&self, web: &dyn Web, url: &str, target: &str) -> Result<String, String> {
        let limit = self.tenant.attachment_bytes;
        let download = web
            .download(url, limit)
            .await
            .map_err(|error| error.to_string())?;
        let place = if target.ends_with('/') {
            path(&format!("{target}{}", download.file.name))?
        } else {
            path(target)?
        };
        self.tenant
            .sandbox
            .write(
                self.scope,
                &self.tenant.spec,
                &place,
                &download.file.bytes,
                WriteMode::Replace,
            )
            .await
            .map_err(|error| error.to_string())?;
        let size = size_text(download.file.bytes.len() as u64);
        Ok(format!("saved to {place} ({}, {size})", download.file.mime))
    }

    /// The choke point holds back values that stand there as they are or in a usual writing. Here also those that are escaped sign by
    /// sign, as addresses may be.
    fn holds_no_secret(&self, written: &str) -> Result<(), String> {
        if hides_a_secret(&self.ports.redactor, written) {
            return Err("nothing was asked: the address holds the value of a secret, which leaves this house in no address".to_owned());
        }
        Ok(())
    }
}

fn hides_a_secret(redactor: &Redactor, written: &str) -> bool {
    if redactor.is_empty() {
        return false;
    }
    let mut text = written.to_owned();
    for _ in 0..ESCAPED {
        let plain = unescaped(&text);
        if plain == text {
            return false;
        }
        let spaced = plain.replace('+', " ");
        if redactor.redact(&plain) != plain || redactor.redact(&spaced) != spaced {
            return true;
        }
        text = plain;
    }
    false
}

/// With `%41` read as `A`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
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

/// A page as the model reads it: at most so many characters, from one on.
fn shown(page: &Page, offset: usize, most: usize) -> Result<String, String> {
    let count = page.text.chars().count();
    if count == 0 {
        return Err(nothing(page));
    }
    if offset >= count {
        return Err(format!("the page has {count} characters"));
    }
    let left = count - offset;
    let part =
        |from: usize, most: usize| -> String { page.text.chars().skip(from).take(most).collect() };
    let (text, rest) = if left <= most {
        (part(offset, most), None)
    } else if offset == 0 {
        let end = most / END;
        let next = most - end;
        let (head, tail) = (part(0, next), part(count - end, end));
        let text = format!("{head}\n[… {} characters left out …]\n{tail}", count - most);
        (text, Some(next))
    } else {
        (part(offset, most), Some(offset + most))
    };
    let title = page.title.as_deref().filter(|_| offset == 0);
    let text = match title {
        Some(title) => format!("Title: {title}\n\n{text}"),
        None => text,
    };
    let mut out = marked(&page.address, &text);
    if let Some(next) = rest {
        out.push_str(&format!("\n[{count} characters; offset {next} reads on]"));
    }
    if page.cut {
        out.push_str("\n[what is there goes on: it is longer than what is read of a page]");
    }
    Ok(out)
}

/// Why there is nothing to read.
fn nothing(page: &Page) -> String {
    let mime = page.mime.as_str();
    if mime == "text/html" || mime == "application/xhtml+xml" {
        return "the page shows no text: it may be made by scripts, which are not run here; save_to keeps it as it is".to_owned();
    }
    if mime.starts_with("text/")
        || mime.is_empty()
        || mime.ends_with("json")
        || mime.ends_with("xml")
    {
        return "there is nothing in it".to_owned();
    }
    format!(
        "this is a file ({mime}) and no page; fetch it again with save_to to put it into the sandbox"
    )
}

/// Hits, each with its place.
fn listed(hits: &[Hit]) -> String {
    let hits = hits.iter().enumerate().map(|(at, hit)| {
        format!(
            "{}. {}\n   {}\n   {}",
            at + 1,
            hit.title,
            hit.address,
            hit.snippet
        )
    });
    hits.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use waybill::Secret;

    use super::*;

    fn page(text: &str) -> Page {
        Page {
            address: "https://a.example/x".to_owned(),
            title: Some("T".to_owned()),
            mime: "text/html".to_owned(),
            text: text.to_owned(),
            cut: false,
        }
    }

    #[test]
    fn a_long_page_is_read_in_pieces_that_leave_nothing_out() {
        let text: String = (0..5_000).map(|n| format!("w{n} ")).collect::<String>() + "ende";
        let count = text.chars().count();
        let first = shown(&page(&text), 0, SHOWN).unwrap();
        assert!(first.starts_with("<untrusted source=\"https://a.example/x\">\nTitle: T\n\nw0 w1"));
        assert!(first.contains("ende\n</untrusted>"));
        assert!(first.ends_with(&format!("[{count} characters; offset 12000 reads on]")));
        let second = shown(&page(&text), 12_000, SHOWN).unwrap();
        assert!(!second.contains("Title:"));
        let inside = second
            .split_once('\n')
            .unwrap()
            .1
            .split_once("\n</untrusted>")
            .unwrap()
            .0;
        let next: String = text.chars().skip(12_000).take(15_000).collect();
        assert_eq!(inside, next.trim_end());
        assert!(second.ends_with("offset 27000 reads on]"));
        let third = shown(&page(&text), 27_000, SHOWN).unwrap();
        assert!(third.ends_with("ende\n</untrusted>"));
        let small = shown(&page(&text), 0, 1_000).unwrap();
        assert!(small.ends_with("offset 800 reads on]") && small.chars().count() < 1_200);
        assert_eq!(
            shown(&page(&text), count, SHOWN),
            Err(format!("the page has {count} characters"))
        );
        let mut cut = page("short");
        cut.cut = true;
        assert!(
            shown(&cut, 0, SHOWN)
                .unwrap()
                .ends_with("longer than what is read of a page]")
        );
    }

    #[test]
    fn what_has_no_text_says_what_to_do() {
        let none = |mime: &str| {
            let mut page = page("");
            page.mime = mime.to_owned();
            shown(&page, 0, SHOWN).unwrap_err()
        };
        assert!(none("application/pdf").contains("save_to"));
        assert!(none("text/html").contains("scripts"));
        assert!(none("application/json").contains("nothing"));
    }

    #[test]
    fn a_secret_in_an_address_is_found_however_it_is_escaped() {
        let secret = "Zx9-q2v_canary";
        let redactor = Redactor::new([("KEY", Secret::new(secret.to_owned()))]).unwrap();
        let some: String = secret
            .chars()
            .enumerate()
            .map(|(at, sign)| {
                if at % 3 == 0 {
                    format!("%{:02x}", u32::from(sign))
                } else {
                    sign.to_string()
                }
            })
            .collect();
        let twice = some.replace('%', "%25");
        for hidden in [some.clone(), twice.clone(), twice.replace('%', "%25")] {
            let address = format!("https://evil.example/?d={hidden}&x=1");
            assert!(hides_a_secret(&redactor, &address), "{address}");
        }
        for fine in [
            "https://a.example/%C3%BC?x=100%",
            "https://a.example/%",
            "%%%%41",
        ] {
            assert!(!hides_a_secret(&redactor, fine), "{fine}");
        }
    }
}
