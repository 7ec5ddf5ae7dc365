//! `tidings outbox list`.

use std::process::ExitCode;

use anyhow::Context as _;
use outbox::view::MessageView;
use outbox::{ListFilter, MessageRow, OutboxStore, PartState, when};
use settings::Home;
use waybill::{AccountId, ChatKey, Clock, MessageId, ProfileId, Thread, Timestamp};

use super::table::{PAGE, cell, cut, width};
use super::{Paint, look};
use crate::exit::Failure;

/// Parcels that are listed when nobody says how many.
const USUAL: usize = 100;
/// Most rows that are read at once.
const MOST_READ: usize = 200;
/// Widest column of chats.
const CHAT: usize = 20;
/// Columns of the longest state, `superseded`, and of the longest age, `119 min`.
const STATE: usize = 10;
const AGE: usize = 7;

/// Which parcels to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Which {
    /// Only those with a part in this state
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<PartState>,
    /// Only those of this profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<ProfileId>,
    /// Only those that this account carries
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<AccountId>,
    /// Only those to this chat: ACCOUNT:CHAT[:THREAD] as listed, or the chat's id on its platform
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    pub(crate) chat: Option<String>,
    /// At most so many [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) most: Option<std::num::NonZeroUsize>,
    /// Only those older than this one: for the next page
    #[arg(long, value_name = "ID", value_parser = crate::arguments::parcel)]
    pub(crate) before: Option<MessageId>,
}

/// Lists parcels, newest first.
pub(crate) fn list(
    home: &Home,
    which: &Which,
    as_json: bool,
    paint: Paint,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    let wanted = Wanted::of(which);
    let most = which.most.map_or(USUAL, usize::from);
    // One more, to know whether there are more.
    let mut rows = look(home, async |store| {
        wanted
            .rows(store, most.saturating_add(1))
            .await
            .context("the outbox can't be read")
    })?;
    let more = rows.len() > most;
    rows.truncate(most);
    if as_json {
        for row in &rows {
            println!("{}", json(row)?);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        eprintln!("nothing here{}", wanted.told());
        return Ok(ExitCode::SUCCESS);
    }
    for line in table(&rows, paint, clock.now()) {
        println!("{line}");
    }
    if let (true, Some(last)) = (more, rows.last()) {
        eprintln!(
            "there are more: `--before {}` lists the next, `--most N` more at once",
            last.id
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A parcel's object, as the HTTP API gives it too.
pub(super) fn json(row: &MessageRow) -> anyhow::Result<String> {
    serde_json::to_string(&MessageView::of(row)).context("the parcel can't be written as JSON")
}

/// What is asked of the store, and what it does not look at.
struct Wanted {
    filter: ListFilter,
    thread: Option<Thread>,
}

impl Wanted {
    fn of(which: &Which) -> Self {
        // With an account beside it, it is the platform's id, whatever it looks like.
        let key = which.chat.as_deref().filter(|_| which.account.is_none());
        let key = key.and_then(|chat| chat.parse::<ChatKey>().ok());
        let filter = ListFilter {
            state: which.state,
            profile: which.profile.clone(),
            account: which.account.clone(),
            conversation: which.chat.clone(),
            before: which.before,
            most: 0,
        };
        match key {
            None => Self {
                filter,
                thread: None,
            },
            Some(key) => Self {
                filter: ListFilter {
                    account: Some(key.account),
                    conversation: Some(key.conversation.as_str().to_owned()),
                    ..filter
                },
                thread: key.thread,
            },
        }
    }

    /// The newest so many.
    async fn rows(
        &self,
        store: &dyn OutboxStore,
        most: usize,
    ) -> Result<Vec<MessageRow>, outbox::StoreError> {
        let mut filter = self.filter.clone();
        let mut rows = Vec::new();
        while rows.len() < most {
            filter.most = match self.thread {
                None => (most - rows.len()).min(MOST_READ),
                Some(_) => MOST_READ,
            };
            let page = store.list(filter.clone()).await?;
            let Some(last) = page.last().map(|row| row.id) else {
                break;
            };
            filter.before = Some(last);
            rows.extend(page.into_iter().filter(|row| self.is_in_thread(row)));
        }
        rows.truncate(most);
        Ok(rows)
    }

    fn is_in_thread(&self, row: &MessageRow) -> bool {
        self.thread.is_none() || row.waybill.chat().thread == self.thread
    }

    /// The filter in words, to follow `nothing here`.
    fn told(&self) -> String {
        let filter = &self.filter;
        let words = [
            filter.state.map(|state| format!("state {state}")),
            filter
                .profile
                .as_ref()
                .map(|name| format!("profile {name}")),
            filter
                .account
                .as_ref()
                .map(|name| format!("account {name}")),
            filter
                .conversation
                .as_ref()
                .map(|chat| format!("chat {}", crate::printable::printable(chat))),
            self.thread
                .as_ref()
                .map(|thread| format!("thread {}", crate::printable::printable(thread.as_str()))),
            filter.before.map(|id| format!("older than {id}")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() {
            ": no parcel was made yet".to_owned()
        } else {
            format!(" with {}", words.join(", "))
        }
    }
}

/// The table, in [`PAGE`] columns.
fn table(rows: &[MessageRow], paint: Paint, now: Timestamp) -> Vec<String> {
    let chats: Vec<String> = rows
        .iter()
        .map(|row| cut(&row.waybill.chat().to_string(), CHAT))
        .collect();
    let chat = chats
        .iter()
        .map(|chat| width(chat))
        .max()
        .unwrap_or(0)
        .max(4);
    let id = rows
        .iter()
        .map(|row| row.id.to_string().len())
        .max()
        .unwrap_or(0);
    let what = PAGE.saturating_sub(id + STATE + AGE + chat + 4);
    let head = [
        cell("ID", id),
        cell("STATE", STATE),
        cell("AGE", AGE),
        cell("CHAT", chat),
        "WHAT".to_owned(),
    ];
    let mut lines = vec![paint.faint(&head.join(" "))];
    for (row, to) in rows.iter().zip(&chats) {
        let age = now.duration_since(row.created_at).as_secs();
        let cells = [
            cell(&row.id.to_string(), id),
            paint.state(row.state(), &cell(row.state().name(), STATE)),
            cell(&when::span(u64::try_from(age).unwrap_or(0)), AGE),
            cell(to, chat),
            cut(&contents(row), what),
        ];
        lines.push(cells.join(" ").trim_end().to_owned());
    }
    lines
}

/// What a parcel holds: its words and its files' names.
fn contents(row: &MessageRow) -> String {
    let parts = row.parts.iter().map(|part| match &part.op {
        chat::Op::Text(_) | chat::Op::Question { .. } if part.forgotten => {
            "(words dropped)".to_owned()
        }
        chat::Op::Text(body) | chat::Op::Question { body, .. } => {
            body.text().chars().take(PAGE).collect()
        }
        chat::Op::File { artifact, .. } => format!("[{}]", artifact.name),
    });
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{EVIL, at, evil, obeys_nothing};
    use super::*;

    #[test]
    fn the_table_fits_the_page_whatever_others_wrote() {
        let mut row = evil();
        row.waybill = waybill::Waybill::operator(
            &waybill::ProfileScope::enter(ProfileId::parse("work").unwrap()),
            format!("bot:{}", "x".repeat(80)).parse().unwrap(),
        );
        let lines = table(&[evil(), row], Paint::Plain, at(12));
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert!(width(line) <= PAGE, "{line}");
            obeys_nothing(line);
        }
        assert!(lines.iter().any(|line| line.contains("12 s")), "{lines:?}");
        assert!(lines[1].contains("words"), "{lines:?}");
    }

    #[test]
    fn a_chat_is_named_as_it_is_listed_or_by_its_platforms_id() {
        let of = |chat: &str, account: Option<&str>| {
            Wanted::of(&Which {
                chat: Some(chat.to_owned()),
                account: account.map(|name| name.parse().unwrap()),
                ..Which::default()
            })
        };
        for (chat, account, expected) in [
            ("a:77", None, (Some("a"), "77", None)),
            ("a:-100:9", None, (Some("a"), "-100", Some("9"))),
            ("-100", None, (None, "-100", None)),
            ("a:77", Some("b"), (Some("b"), "a:77", None)),
            ("!room:server.org", None, (None, "!room:server.org", None)),
        ] {
            let wanted = of(chat, account);
            let found = (
                wanted.filter.account.as_ref().map(AccountId::as_str),
                wanted.filter.conversation.as_deref().unwrap(),
                wanted.thread.as_ref().map(Thread::as_str),
            );
            assert_eq!(found, expected, "{chat}");
        }
    }

    #[test]
    fn an_empty_list_says_of_what_there_is_nothing() {
        assert_eq!(
            Wanted::of(&Which::default()).told(),
            ": no parcel was made yet"
        );
        let wanted = Wanted::of(&Which {
            state: Some(PartState::Failed),
            account: Some("a".parse().unwrap()),
            chat: Some(EVIL.to_owned()),
            ..Which::default()
        });
        obeys_nothing(&wanted.told());
        assert!(
            wanted
                .told()
                .starts_with(" with state failed, account a, chat")
        );
    }
}
