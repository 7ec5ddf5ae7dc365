//! What earlier versions left behind is taken along: a kept database of each release is opened by today's store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outbox::{ListFilter, MessageRow, OutboxStore as _, PartState};
use sandbox::BlobStore as _;
use session::{InboxStore as _, SessionStore as _, VisibleLog as _};
use tidings_store_sqlite::Store;
use waybill::{AccountId, Conversation, ProfileId};

use crate::place::{Place, now, settled};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0001-first-light")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub(crate) fn first_light() -> Place {
    let place = Place::new();
    copy(&fixture(), place.database().parent().unwrap());
    place
}

/// How many parts of an account stand in each state.
fn states(rows: &[MessageRow]) -> BTreeMap<(String, &'static str), usize> {
    let mut states = BTreeMap::new();
    for row in rows {
        for part in &row.parts {
            let account = row.waybill.account().to_string();
            *states.entry((account, part.state.name())).or_default() += 1;
        }
    }
    states
}

fn known(states: &[(&str, PartState, usize)]) -> BTreeMap<(String, &'static str), usize> {
    let own = |(account, state, count): &(&str, PartState, usize)| {
        ((account.to_string(), state.name()), *count)
    };
    states.iter().map(own).collect()
}

async fn list(store: &Store) -> Vec<MessageRow> {
    let all = ListFilter {
        most: 1_000,
        ..ListFilter::default()
    };
    store.list(all).await.unwrap()
}

#[tokio::test]
async fn every_row_of_first_light_is_read_as_it_was() {
    let place = first_light();
    let store = Store::open(&place.options()).unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let rows = list(&store).await;
    assert_eq!(
        states(&rows),
        known(&[
            ("a", PartState::Sent, 6),
            ("a", PartState::Failed, 1),
            ("b", PartState::Retry, 1),
            ("b", PartState::Queued, 1),
            ("c", PartState::Sending, 1),
            ("c", PartState::Unknown, 1),
            ("web", PartState::Sent, 2),
        ])
    );
    for row in &rows {
        assert_eq!(store.show(row.id).await.unwrap().as_ref(), Some(row));
        for part in &row.parts {
            let tried = usize::from(part.state != PartState::Queued);
            assert_eq!(part.attempts.len(), tried, "{row:?}");
            assert_eq!(part.state == PartState::Sent, part.receipt.is_some());
        }
    }
    let waits = rows
        .iter()
        .flat_map(|row| &row.parts)
        .find(|part| part.state == PartState::Retry)
        .unwrap();
    assert_eq!(waits.next_at.to_string(), "2100-01-01T00:00:00Z");

    let account: AccountId = "a".parse().unwrap();
    assert_eq!(
        store.cursor(&account).await.unwrap().as_deref(),
        Some("111111:111107")
    );
    let turns = store.running_turns().await.unwrap();
    let [turn] = turns.as_slice() else {
        panic!("{turns:?}")
    };
    let asked = turn.inbound.as_ref().unwrap();
    assert_eq!(asked.text, "Tell me a long story");
    let transcript = store.transcript(turn.scope.session().id()).await.unwrap();
    assert!(
        transcript
            .iter()
            .any(|entry| entry.turn == turn.scope.turn()),
        "the steps of the turn that was cut off are missing"
    );
    let open = store.open_rows().await.unwrap();
    let waiting: Vec<&str> = open
        .iter()
        .filter_map(|row| Some(row.inbound.as_ref()?.text.as_str()))
        .collect();
    assert_eq!(waiting, ["and another one"]);

    let said = store.conversations(10).await.unwrap();
    let held = said
        .iter()
        .find(|row| row.title.starts_with("Make a table"))
        .unwrap();
    let entries = store.entries(&held.conversation, 0, 100).await.unwrap();
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert!(Conversation::new("notices-p").is_ok_and(|home| {
        said.iter()
            .any(|row| row.conversation == home && row.profile.as_str() == "p")
    }));
    store.close().await.unwrap();
}

#[tokio::test]
async fn every_file_that_first_light_promised_is_still_there() {
    let place = first_light();
    let store = Store::open(&place.options()).unwrap();
    let profile = ProfileId::parse("p").unwrap();
    let mut files = 0;
    for part in list(&store).await.iter().flat_map(|row| &row.parts) {
        let chat::Op::File { artifact, .. } = &part.op else {
            continue;
        };
        let (size, _bytes) = store
            .blobs()
            .unwrap()
            .open(&profile, &artifact.blob.hash)
            .await
            .unwrap();
        assert_eq!(size, artifact.blob.size);
        files += 1;
    }
    assert_eq!(files, 5);
    store.close().await.unwrap();
}

#[tokio::test]
async fn what_was_open_goes_on_and_what_was_on_the_wire_is_marked() {
    let place = first_light();
    let store = Store::open(&place.options()).unwrap();
    // Long after: whatever may go is due, and the wait that the platform asked for is kept.
    let later = now() + jiff::SignedDuration::from_hours(24 * 365 * 3);
    assert_eq!(store.recover(later, settled()).await.unwrap(), 1);
    let claimed = store.claim(later, 100).await.unwrap().parts;
    let mut chats: Vec<String> = claimed
        .iter()
        .map(|part| {
            assert!(part.may_be_repeat, "{part:?}");
            assert_eq!(part.came_from, PartState::Unknown);
            part.waybill.chat().to_string()
        })
        .collect();
    chats.sort();
    assert_eq!(chats, ["c:77", "c:78"]);
    assert_eq!(
        states(&list(&store).await),
        known(&[
            ("a", PartState::Sent, 6),
            ("a", PartState::Failed, 1),
            ("b", PartState::Retry, 1),
            ("b", PartState::Queued, 1),
            ("c", PartState::Sending, 2),
            ("web", PartState::Sent, 2),
        ])
    );
    store.close().await.unwrap();
    let again = Store::open(&place.options()).unwrap();
    assert_eq!(again.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(again.recover(later, settled()).await.unwrap(), 2);
    again.close().await.unwrap();
}
