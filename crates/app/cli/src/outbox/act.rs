//! `tidings outbox retry`, `cancel` and `mark-sent`.

use std::process::ExitCode;

use anyhow::Context as _;
use outbox::view::ActedView;
use outbox::{Acted, MessageRow, OutboxStore as _, PartState, Verb, meaning};
use settings::Home;
use waybill::{Clock, MessageId};

use super::{change, no_such};
use crate::exit::Failure;

/// With what.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Wish {
    /// The parcel's id (msg_…)
    #[arg(value_parser = crate::arguments::parcel)]
    pub(crate) id: MessageId,
    /// Only this part of it, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) part: Option<u32>,
}

/// Does it, and says what became of each part. Exit 0 if something changed.
pub(crate) fn act(
    home: &Home,
    verb: Verb,
    wish: Wish,
    as_json: bool,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    let (before, acted) = change(home, async |store| {
        let before = store
            .show(wish.id)
            .await
            .context("the outbox can't be read")?;
        let acted = store
            .act(wish.id, wish.part, verb, clock.now())
            .await
            .context("the outbox can't be changed")?;
        Ok((before, acted))
    })?;
    let (before, acted) = match (before, acted) {
        (None, _) => return Err(no_such(wish.id)),
        (Some(before), None) => return Err(no_such_part(&before)),
        (Some(before), Some(acted)) => (before, acted),
    };
    if as_json {
        let object = serde_json::to_string(&ActedView::of(wish.id, verb, &acted))
            .context("the answer can't be written as JSON")?;
        println!("{object}");
    } else {
        for line in told(&before, verb, &acted) {
            println!("{line}");
        }
    }
    if acted.changed.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if verb == Verb::Retry && !home.run().join("address").exists() {
        eprintln!("no gateway runs on this home now; it is sent once one does: `tidings up`");
    }
    Ok(ExitCode::SUCCESS)
}

fn no_such_part(row: &MessageRow) -> Failure {
    Failure::Failed(format!(
        "parcel {} has no such part, its parts are 1 to {}; `tidings outbox show {}` shows them",
        row.id,
        row.parts.len(),
        row.id
    ))
}

/// A line for each part, in their order.
fn told(before: &MessageRow, verb: Verb, acted: &Acted) -> Vec<String> {
    let was = |n: u32| {
        let part = before.parts.iter().find(|part| part.n == n);
        part.map(|part| part.state)
    };
    let changed = acted.changed.iter().map(|&(n, state)| {
        let states = match was(n).filter(|was| *was != state) {
            Some(was) => format!("{was} → {state}"),
            None => state.to_string(),
        };
        (n, format!("part {n}: {states}; {}", verb.effect(state)))
    });
    let left = acted.left.iter().map(|&(n, state)| {
        (
            n,
            format!("part {n} can't be {}: {}", done(verb), why(verb, state)),
        )
    });
    let mut lines: Vec<(u32, String)> = changed.chain(left).collect();
    lines.sort();
    lines.into_iter().map(|(_n, line)| line).collect()
}

fn done(verb: Verb) -> &'static str {
    match verb {
        Verb::Retry => "sent again",
        Verb::Cancel => "cancelled",
        Verb::MarkSent => "marked as sent",
    }
}

fn why(verb: Verb, state: PartState) -> String {
    meaning::of_refusal(verb, state).map_or_else(|| format!("it is {state}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::evil;
    use super::*;

    #[test]
    fn each_part_gets_its_line_in_order() {
        let acted = Acted {
            changed: vec![(2, PartState::Queued)],
            left: vec![(1, PartState::Sent)],
        };
        assert_eq!(
            told(&evil(), Verb::Retry, &acted),
            [
                "part 1 can't be sent again: it has arrived; to say it twice, send a new message",
                "part 2: failed → queued; it is sent as soon as its chat's turn comes",
            ]
        );
    }
}
