//! The web as text: pages behind guards, and search.
//!
//! Use this room for what stands at an address that a model chose, and for asking a search engine. It refuses to decide whether a call
//! is allowed (the agent's choke point does), to run scripts, to log in, to keep cookies, and to look into files that are no text.
//!
//! Invariants:
//! * Addresses of pages go through `net`'s guard for addresses of somebody else's choice; no setting opens it.
//! * Everything is bounded: the time of an answer, its bytes before and after they are unpacked, the text made of it, how many are read
//!   and converted at once.
//! * A page is read in one pass over its tokens, without a tree and without recursion: markup of any shape takes time in proportion to its
//!   length. The conversion runs beside the other work of the gateway and is given up after its time.
//! * What a page hides from its readers is not read by the model either.
//! * A key for a search engine goes into a secret header and into no error.
//!
//! Start reading at [`Web`]; then `fetch` (an answer), `page` (what a reader sees of it), `search`.

mod charset;
mod fetch;
mod kind;
mod page;
mod recent;
mod search;
mod unpack;
mod web;

pub use search::{Engine, Search};
pub use web::{Clients, Options, Web};

/// For fuzzing alone: what a reader sees of any bytes that call themselves a page.
#[doc(hidden)]
#[must_use]
pub fn readable(bytes: &[u8]) -> String {
    let base = url::Url::parse("https://site.example/").ok();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let html = charset::decoded(bytes, None, charset::Declared::InTheText);
    base.and_then(|base| page::readable(&html, &base, &stop))
        .map(|page| page.text)
        .unwrap_or_default()
}
