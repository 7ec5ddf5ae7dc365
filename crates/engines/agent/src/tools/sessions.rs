//! `search_sessions`: what was said in earlier conversations.

use policy::Context;
use serde::Deserialize;
use serde_json::{Map, Value};
use session::{Passage, Said, Within};

use super::{Bench, read};

/// Results unless told otherwise, and the most.
const RESULTS: (usize, usize) = (5, 15);
/// Messages before and after the one that is read around, unless told otherwise, and the most.
const AROUND: (usize, usize) = (5, 20);
/// Characters of a message that a search shows: around its first hit.
const SHOWN: usize = 400;
/// Characters of a message that reading around shows.
const WHOLE: usize = 3_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    around: Option<i64>,
    limit: Option<usize>,
}

impl Bench<'_> {
    pub(super) async fn search_sessions(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let Arguments {
            query,
            around,
            limit,
        } = read(arguments)?;
        let within = self.within()?;
        let recall = &self.ports.recall;
        let between = |(usual, most): (usize, usize)| limit.unwrap_or(usual).clamp(1, most);
        if let Some(id) = around {
            let found = recall.around(&within, id, between(AROUND)).await;
            let found = found.map_err(|error| error.to_string())?;
            let lines: Vec<String> = found
                .iter()
                .map(|passage| line(passage, &within, cut(&passage.text, 0, WHOLE)))
                .collect();
            return Ok(lines.join("\n\n"));
        }
        let query =
            query.ok_or("say what to search for: `query`, or `around` with a result's number")?;
        let found = recall
            .search(&within, self.scope.turn(), &query, between(RESULTS))
            .await
            .map_err(|error| error.to_string())?;
        let mut lines: Vec<String> = found
            .passages
            .iter()
            .map(|passage| line(passage, &within, excerpt(&passage.text, &query)))
            .collect();
        if lines.is_empty() {
            lines.push("[nothing was found]".to_owned());
        }
        if found.behind > 0 {
            lines.push(format!(
                "[the index is still being made: up to {} messages were not searched]",
                found.behind
            ));
        }
        Ok(lines.join("\n\n"))
    }

    /// Where may be looked: the owner's own chat sees all of the profile, any other chat sees itself.
    fn within(&self) -> Result<Within, String> {
        let (profile, key) = (self.scope.profile(), self.scope.session().key());
        match self.context() {
            Context::Owner => Ok(Within::Profile(profile.clone())),
            Context::Person | Context::Group | Context::Api => {
                Ok(Within::Chat(profile.clone(), key.clone()))
            }
            Context::Nobody | Context::Unknown => Err(
                "it can't be told who asks, so earlier conversations are not searched".to_owned(),
            ),
        }
    }
}

fn line(passage: &Passage, within: &Within, text: String) -> String {
    let who = match passage.said {
        Said::Person => "the person",
        Said::Agent => "you",
    };
    let place = match within {
        Within::Profile(_) => format!(", {}", passage.key),
        Within::Chat(..) => String::new(),
    };
    format!(
        "[#{} {}{place}, {who}:]\n{text}",
        passage.id,
        passage.at.strftime("%Y-%m-%d %H:%M UTC"),
    )
}

/// The part of a text in which the first word of the query stands.
fn excerpt(text: &str, query: &str) -> String {
    let lower = text.to_lowercase();
    let words = query.split(|sign: char| !sign.is_alphanumeric());
    let hit = words
        .filter(|word| !word.is_empty())
        .filter_map(|word| lower.find(&word.to_lowercase()))
        .min()
        .unwrap_or(0);
    let before = lower.get(..hit).map_or(0, |before| before.chars().count());
    cut(text, before.saturating_sub(SHOWN / 3), SHOWN)
}

fn cut(text: &str, from: usize, most: usize) -> String {
    let all = text.chars().count();
    let shown: String = text.chars().skip(from).take(most).collect();
    let begins = if from > 0 { "…" } else { "" };
    let ends = if from + most < all { "…" } else { "" };
    format!("{begins}{}{ends}", shown.trim())
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn an_excerpt_shows_the_word_that_was_searched_for() {
        let text = format!("{}The KITE is red. {}", "é ".repeat(900), "x ".repeat(900));
        let shown = excerpt(&text, "\"kite\" zebra");
        assert!(shown.contains("The KITE is red."), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(excerpt("short", "none"), "short");
        // Letters that grow when they are made small must not break the count.
        assert!(excerpt(&"İ".repeat(300), "i").len() > 1);
    }
}
