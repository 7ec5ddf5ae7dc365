//! Pages that were read a moment ago, so that reading on in one asks nobody again and finds the same text.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tool::Page;

/// How long a page is as good as fresh.
const FRESH: Duration = Duration::from_secs(5 * 60);
/// Most bytes of text that are kept, of all pages together.
const KEPT: usize = 4 << 20;
/// Most pages.
const PAGES: usize = 8;

#[derive(Default)]
pub(crate) struct Recent {
    pages: Mutex<VecDeque<(String, Instant, Page)>>,
}

impl Recent {
    /// The page that was asked for by this address, if it is fresh.
    pub(crate) fn get(&self, asked: &str) -> Option<Page> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages
            .iter()
            .find(|(address, read, _)| address == asked && read.elapsed() < FRESH)
            .map(|(_, _, page)| page.clone())
    }

    pub(crate) fn keep(&self, asked: &str, page: &Page) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(address, read, _)| address != asked && read.elapsed() < FRESH);
        pages.push_back((asked.to_owned(), Instant::now(), page.clone()));
        let total = |pages: &VecDeque<(String, Instant, Page)>| -> usize {
            pages.iter().map(|(_, _, page)| page.text.len()).sum()
        };
        while pages.len() > PAGES || total(&pages) > KEPT {
            pages.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: String) -> Page {
        Page {
            address: "https://site.example/".to_owned(),
            title: None,
            mime: "text/plain".to_owned(),
            text,
            cut: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_fresh_for_minutes_and_the_memory_is_bounded() {
        let recent = Recent::default();
        recent.keep("a", &page("one".to_owned()));
        assert_eq!(
            recent.get("a").map(|page| page.text),
            Some("one".to_owned())
        );
        assert_eq!(recent.get("b"), None);
        recent.keep("a", &page("two".to_owned()));
        assert_eq!(
            recent.get("a").map(|page| page.text),
            Some("two".to_owned())
        );
        tokio::time::advance(FRESH).await;
        assert_eq!(recent.get("a"), None);
        for number in 0..20 {
            recent.keep(&number.to_string(), &page("x".to_owned()));
        }
        assert_eq!(recent.get("11"), None);
        assert!(recent.get("12").is_some());
        recent.keep("large", &page("x".repeat(KEPT)));
        assert!(recent.get("large").is_some());
        assert_eq!(recent.get("19"), None);
        recent.keep("larger", &page("x".repeat(KEPT + 1)));
        assert_eq!(recent.get("larger"), None);
    }
}
