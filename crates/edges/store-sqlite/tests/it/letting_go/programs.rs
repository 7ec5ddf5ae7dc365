//! A request by the API: what is known of it while it is answered, and that nothing of it stays for ever.

use chat::{Inbound, InboundKind, Place};
use model::Usage;
use outbox::{MessageKind, NewMessage, NewPart, PartState};
use rusqlite::Connection;
use session::{
    AnswerStore as _, InboxStore as _, NewEvent, Progress, Promised, SessionStore as _, TurnCommit,
    TurnEnd, TurnStart,
};
use waybill::{
    AccountId, Anchor, ChatKey, Conversation, MessageId, Origin, Placement, ProfileScope,
    SessionId, SessionKey, TaskId, TurnId, Waybill,
};

use super::house::{DAY, House, profile, sent, shown, text};

fn account() -> AccountId {
    "api".parse().unwrap()
}

fn said(words: &str) -> model::Message {
    model::Message::User {
        content: vec![model::Content::Text {
            text: words.to_owned(),
        }],
    }
}

impl House {
    fn count(&self, sql: &str) -> i64 {
        let db = Connection::open(self.place.database()).unwrap();
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    async fn progress(&self, event: &str) -> Option<Progress> {
        self.store.progress(&account(), event).await.unwrap()
    }
}

#[tokio::test]
async fn a_request_is_followed_to_its_answer_and_leaves_nothing_behind() {
    let mut house = House::new();
    let file = house.capture(b"a,b").await;
    let chat = ChatKey::new(account(), Conversation::new("cli/~r1").unwrap());
    assert_eq!(house.progress("r1").await, None);
    let event = NewEvent {
        key: "r1".to_owned(),
        raw: "{}".to_owned(),
        parsed: Ok(Some(Inbound {
            chat: chat.clone(),
            anchor: Anchor::new("r1"),
            sender: chat::Sender {
                id: chat::SenderId::new("key"),
                name: None,
                bot: false,
            },
            place: Place::Direct,
            kind: InboundKind::Message,
            text: "hi".to_owned(),
            files: Vec::new(),
            quoted: None,
            forwarded_from: None,
            preface: None,
            at: house.now(),
        })),
    };
    let (rows, _) = house
        .store
        .accept(&account(), vec![event], None, house.now())
        .await
        .unwrap();
    assert_eq!(house.progress("r1").await, Some(Progress::Waits));

    let key = SessionKey::Chat(chat.clone());
    let fresh = SessionId::fresh(&house.ids);
    // As intake does with what brings its whole conversation along.
    let session = ProfileScope::enter(profile()).session(key, fresh);
    let scope = session.begin_turn(
        TurnId::fresh(&house.ids),
        TaskId::fresh(&house.ids),
        Origin::Chat(chat),
        Placement::PerProfile,
    );
    let start = TurnStart {
        scope: scope.clone(),
        inbox: vec![rows[0].id.into()],
        before: vec![said("what was said before")],
        message: said("hi"),
        promised: Promised::default(),
        at: house.now(),
    };
    house.store.begin_turn(start).await.unwrap();
    let transcript = house.store.transcript(session.id()).await.unwrap();
    let told: Vec<_> = transcript.into_iter().map(|entry| entry.message).collect();
    assert_eq!(told, [said("what was said before"), said("hi")]);
    let turn = scope.turn();
    assert_eq!(house.progress("r1").await, Some(Progress::Runs { turn }));

    let source = format!("turn:{turn}");
    let parts = [text("done"), shown(&file)].into_iter().zip(1..);
    let commit = TurnCommit {
        scope: scope.clone(),
        end: TurnEnd::Answered,
        transcript: Vec::new(),
        outgoing: vec![NewMessage {
            id: MessageId::fresh(&house.ids),
            waybill: Waybill::reply(&scope).unwrap(),
            kind: MessageKind::Reply,
            parts: parts
                .map(|(op, n)| NewPart {
                    op,
                    way: chat::Way::Direct,
                    key: outbox::key::part_key("install", &source, 0, n, 0),
                })
                .collect(),
            source,
            ordinal: 0,
            when_unknown: chat::WhenUnknown::Repeat,
            replaces: None,
            created_at: house.now(),
            expires_at: waybill::Timestamp::MAX,
        }],
        usage: Usage {
            input: 7,
            cached: 2,
            output: 3,
        },
        spent: Vec::new(),
        at: house.now(),
    };
    let mut claimed = house.store.commit_turn(commit).await.unwrap();
    let Some(Progress::Ended(answer)) = house.progress("r1").await else {
        panic!("it has not ended");
    };
    assert_eq!(
        (answer.turn, &answer.end, answer.usage.input),
        (turn, &TurnEnd::Answered, 7)
    );
    let states: Vec<PartState> = answer.parts.iter().map(|part| part.state).collect();
    assert_eq!(states, [PartState::Sending, PartState::Queued]);
    while let Some(part) = claimed.pop() {
        claimed.extend(house.settle(&part, sent()).await);
    }

    let sent_to = async |client: &str| {
        let client = client.parse().unwrap();
        house
            .store
            .sent_file(&account(), &client, &profile(), &file.blob.hash)
            .await
            .unwrap()
    };
    assert_eq!(sent_to("cli").await, Some(file.clone()));
    assert_eq!(sent_to("cl").await, None);
    assert_eq!(sent_to("other").await, None);

    house.at += 40 * DAY;
    house.tidy(Some(30 * DAY)).await;
    for table in [
        "session", "turn", "entry", "message", "part", "lane", "inbox",
    ] {
        assert_eq!(
            house.count(&format!("SELECT count(*) FROM {table}")),
            0,
            "{table}"
        );
    }
}
