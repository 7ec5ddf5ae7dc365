//! What a reader sees of a page, as markdown.
//!
//! Two passes at most: one without what stands around the matter (navigation, footers), and a second with it where the first one
//! left almost nothing. Of the first, the part that the page itself calls its matter (`main`, `article`) is taken if it is worth it.

mod element;
mod open;
mod tokens;
mod writer;

use std::sync::atomic::AtomicBool;

use url::Url;

use tokens::{Around, Pass, pass};

/// Fewer bytes than this are no page worth reading: then everything around them is shown as well.
const LITTLE: usize = 250;
/// Fewer bytes than this are not taken for a page's matter.
const MATTER: usize = 200;

/// What a reader sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// Whether there would have been more.
    pub(crate) cut: bool,
}

/// Reads a page that was found at `base`. `None` if `stop` was set meanwhile.
pub(crate) fn readable(html: &str, base: &Url, stop: &AtomicBool) -> Option<Readable> {
    let first = pass(html, base, Around::LeftOut, stop)?;
    let text = matter(&first);
    if text.len() >= LITTLE {
        return Some(Readable {
            title: first.title.clone(),
            text,
            cut: first.cut,
        });
    }
    let second = pass(html, base, Around::Shown, stop)?;
    let all = second.text.trim();
    let (text, cut) = if all.len() > 2 * text.len() {
        (all.to_owned(), second.cut)
    } else {
        (text, first.cut)
    };
    Some(Readable {
        title: second.title,
        text,
        cut,
    })
}

/// What the page calls its matter, if that is a good part of it; else all.
fn matter(pass: &Pass) -> String {
    let all = pass.text.trim();
    let joined = |regions: &[(usize, usize)]| -> String {
        let texts = regions
            .iter()
            .filter_map(|(from, to)| pass.text.get(*from..*to));
        let texts: Vec<&str> = texts
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n\n")
    };
    // A `main` is one by definition; articles may be teasers beside the matter.
    for (regions, share) in [(&pass.mains, 5), (&pass.articles, 2)] {
        let text = joined(regions);
        if text.len() >= MATTER && text.len() * share >= all.len() {
            return text;
        }
    }
    all.to_owned()
}

#[cfg(test)]
mod tests;
