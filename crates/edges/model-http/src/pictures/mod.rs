//! Pictures, as a provider takes them. One that it would refuse must not stop the whole conversation, so words stand for it.
//!
//! What is judged is what goes to the wire: the bytes in the base64, not their label; the length of the base64, since that is what
//! providers count.

mod header;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Content;

pub(crate) use header::{Flaw, Kind, look};

use crate::manner::Eyes;
use crate::transcript::Entry;

/// What a provider takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) kinds: &'static [Kind],
    /// Of one picture, in bytes of base64.
    pub(crate) largest: usize,
    /// Of the longer side, in pixels.
    pub(crate) side: u32,
    /// Of one request; of more, the newest stay.
    pub(crate) most: usize,
    /// Of all pictures of a request together, in bytes of base64.
    pub(crate) together: usize,
    /// Where there are more than so many, none may have a longer side than so many pixels.
    pub(crate) crowd: Option<(usize, u32)>,
}

/// The kinds that most take.
pub(crate) const USUAL: &[Kind] = &[Kind::Png, Kind::Jpeg, Kind::Gif, Kind::Webp];

const UNSEEN: &str = "(a picture, which this model can't look at)";
const UNKNOWN: &str = "(a picture of a kind that this model can't look at)";
const BROKEN: &str = "(a picture that is broken or not whole, so it can't be looked at)";
const TOO_LARGE: &str = "(a picture that is too large for this model to look at)";
const LEFT_OUT: &str = "(an earlier picture, left out: only the newest ones fit into a request)";

/// A picture of a conversation: where it stands, and what it takes.
struct Placed {
    entry: usize,
    part: usize,
    length: usize,
    side: u32,
}

/// Makes every picture of a conversation one that the provider takes, or words.
pub(crate) fn fit(entries: &mut [Entry], bounds: &Bounds, eyes: Eyes) {
    let mut good = Vec::new();
    for (entry, one) in entries.iter_mut().enumerate() {
        let Entry::User(content) = one else { continue };
        for (part, content) in content.iter_mut().enumerate() {
            let Content::Image { mime, base64 } = content else {
                continue;
            };
            let judged = match eyes {
                Eyes::Open => judge(base64, bounds),
                Eyes::Shut => Err(UNSEEN),
            };
            match judged {
                Ok((kind, side)) => {
                    kind.mime().clone_into(mime);
                    good.push(Placed {
                        entry,
                        part,
                        length: base64.len(),
                        side,
                    });
                }
                Err(why) => *content = words(why),
            }
        }
    }
    for over in overflow(&good, bounds) {
        if let Some(Entry::User(content)) = entries.get_mut(over.entry)
            && let Some(part) = content.get_mut(over.part)
        {
            *part = words(LEFT_OUT);
        }
    }
}

fn words(text: &str) -> Content {
    Content::Text {
        text: text.to_owned(),
    }
}

/// The kind and the longer side of a picture that the provider takes, or what stands for it.
fn judge(base64: &str, bounds: &Bounds) -> Result<(Kind, u32), &'static str> {
    if base64.len() > bounds.largest {
        return Err(TOO_LARGE);
    }
    let bytes = STANDARD.decode(base64).map_err(|_no_base64| BROKEN)?;
    let look = look(&bytes).map_err(|flaw| match flaw {
        Flaw::Unknown => UNKNOWN,
        Flaw::Broken => BROKEN,
    })?;
    if !bounds.kinds.contains(&look.kind) {
        return Err(UNKNOWN);
    }
    if look.side > bounds.side {
        return Err(TOO_LARGE);
    }
    Ok((look.kind, look.side))
}

/// The oldest ones, if all together are too many or too much.
fn overflow<'a>(good: &'a [Placed], bounds: &Bounds) -> &'a [Placed] {
    let mut together = 0_usize;
    let fits = |placed: &&Placed| {
        together = together.saturating_add(placed.length);
        together <= bounds.together
    };
    let mut stay = good.iter().rev().take_while(fits).count().min(bounds.most);
    if let Some((few, side)) = bounds.crowd
        && stay > few
        && good
            .iter()
            .rev()
            .take(stay)
            .any(|placed| placed.side > side)
    {
        stay = few;
    }
    good.get(..good.len() - stay).unwrap_or_default()
}
