//! Earlier conversations are found again; the index is nobody's worry.

use std::fs;
use std::path::PathBuf;

use model::{Content, Message, ToolCall};
use session::{
    Chore, Cutoffs, Passage, PlanStep, PlanStore as _, Promised, Recall as _, RecallError,
    RetentionStore as _, SessionStore as _, StepState, TurnCommit, TurnEnd, TurnStart, Within,
};
use testkit::clock::CountingIds;
use tidings_store_sqlite::{Search, Store};
use waybill::{
    Origin, Placement, ProfileId, ProfileScope, SessionId, SessionKey, SessionScope, TaskId,
    Timestamp, TurnId,
};

use crate::place::Place;

struct House {
    place: Place,
    store: Store,
    ids: CountingIds,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn profile(name: &str) -> ProfileId {
    ProfileId::parse(name).unwrap()
}

fn key(text: &str) -> SessionKey {
    text.parse().unwrap()
}

fn user(text: &str) -> Message {
    Message::User {
        content: vec![Content::Text {
            text: text.to_owned(),
        }],
    }
}

fn agent(text: &str) -> Message {
    Message::Assistant {
        text: text.to_owned(),
        calls: Vec::new(),
        replay: None,
    }
}

impl House {
    fn new() -> Self {
        let place = Place::new();
        let store = Store::open(&place.options()).unwrap();
        Self {
            place,
            store,
            ids: CountingIds::default(),
        }
    }

    fn path(&self) -> PathBuf {
        self.place.folder.path().join("state").join("search.db")
    }

    fn search(&self) -> Search {
        Search::new(self.store.clone(), &self.path())
    }

    async fn session(&self, of: &str, of_key: &str) -> SessionScope {
        let scope = ProfileScope::enter(profile(of));
        self.store
            .current(&scope, &key(of_key), SessionId::fresh(&self.ids), at(0))
            .await
            .unwrap()
    }

    /// A turn in which these words fall; the person's first.
    async fn turn(&self, session: &SessionScope, words: &[&str], second: i64) -> TurnId {
        let turn = TurnId::fresh(&self.ids);
        let scope = session.begin_turn(
            turn,
            TaskId::fresh(&self.ids),
            Origin::Operator,
            Placement::PerProfile,
        );
        let start = TurnStart {
            scope: scope.clone(),
            inbox: Vec::new(),
            before: Vec::new(),
            message: user(words[0]),
            promised: Promised::default(),
            at: at(second),
        };
        self.store.begin_turn(start).await.unwrap();
        let call = Message::Assistant {
            text: String::new(),
            calls: vec![ToolCall {
                id: "c".to_owned(),
                name: "terminal".to_owned(),
                arguments: Ok(serde_json::Map::new()),
            }],
            replay: None,
        };
        let result = Message::Tool {
            call: "c".to_owned(),
            name: "terminal".to_owned(),
            content: "toolword".to_owned(),
            failed: false,
        };
        self.store
            .append(&scope, vec![call, result], &Promised::default(), at(second))
            .await
            .unwrap();
        let commit = TurnCommit {
            scope,
            end: TurnEnd::Answered,
            transcript: words[1..].iter().map(|words| agent(words)).collect(),
            outgoing: Vec::new(),
            usage: model::Usage::default(),
            spent: Vec::new(),
            at: at(second),
        };
        self.store.commit_turn(commit).await.unwrap();
        turn
    }

    async fn found(&self, search: &Search, within: &Within, query: &str) -> Vec<String> {
        let but = TurnId::fresh(&self.ids);
        let recalled = search.search(within, but, query, 10).await.unwrap();
        assert_eq!(recalled.behind, 0, "{query}");
        texts(&recalled.passages)
    }
}

fn texts(passages: &[Passage]) -> Vec<String> {
    passages
        .iter()
        .map(|passage| passage.text.clone())
        .collect()
}

fn everything(of: &str) -> Within {
    Within::Profile(profile(of))
}

#[tokio::test]
async fn what_was_said_is_found_by_its_words_in_any_script() {
    let house = House::new();
    let search = house.search();
    let a = house.session("p", "chat:bot:1").await;
    house
        .turn(
            &a,
            &[
                "What about the Zürich reports?",
                "They are in /workspace/reports.",
            ],
            1,
        )
        .await;
    let b = house.session("p", "chat:bot:2").await;
    house
        .turn(
            &b,
            &["明日は東京タワーへ行きます", "Green tea is served there."],
            2,
        )
        .await;
    let all = everything("p");
    for (query, text) in [
        ("zurich", "What about the Zürich reports?"),
        ("東京", "明日は東京タワーへ行きます"),
        ("タワー", "明日は東京タワーへ行きます"),
        ("\"green tea\"", "Green tea is served there."),
        ("serve green", "Green tea is served there."),
        ("green unicorns", "Green tea is served there."),
    ] {
        assert_eq!(house.found(&search, &all, query).await, [text], "{query}");
    }
    for nothing in ["\"tea green\"", "toolword", "京東", "zebra"] {
        assert_eq!(
            house.found(&search, &all, nothing).await,
            Vec::<String>::new(),
            "{nothing}"
        );
    }
    let refused = search
        .search(&all, TurnId::fresh(&house.ids), "?!", 5)
        .await;
    assert_eq!(refused, Err(RecallError::NoWords));
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn nobody_finds_what_was_said_elsewhere() {
    let house = House::new();
    let search = house.search();
    for (of, of_key, words) in [
        ("p", "chat:bot:1", "the owner's secret plan"),
        ("p", "chat:bot:-100", "the group's plan"),
        (
            "p",
            "cron:job_00000000000000000000000000000001",
            "the job's plan",
        ),
        ("q", "chat:bot:1", "another profile's plan"),
    ] {
        let session = house.session(of, of_key).await;
        house.turn(&session, &[words, "ok"], 1).await;
    }
    let group = Within::Chat(profile("p"), key("chat:bot:-100"));
    assert_eq!(
        house.found(&search, &group, "plan").await,
        ["the group's plan"]
    );
    let mut all = house.found(&search, &everything("p"), "plan").await;
    all.sort();
    assert_eq!(all, ["the group's plan", "the owner's secret plan"]);
    assert_eq!(
        house.found(&search, &everything("r"), "plan").await,
        Vec::<String>::new()
    );
    // Nor by a number.
    let hit = search
        .search(&everything("p"), TurnId::fresh(&house.ids), "secret", 1)
        .await
        .unwrap();
    let id = hit.passages[0].id;
    assert_eq!(
        search.around(&group, id, 3).await,
        Err(RecallError::NoPassage(id))
    );
    assert_eq!(
        search.around(&everything("q"), id, 3).await,
        Err(RecallError::NoPassage(id))
    );
    assert_eq!(
        texts(&search.around(&everything("p"), id, 3).await.unwrap()),
        ["the owner's secret plan", "ok"]
    );
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn an_earlier_stretch_of_the_chat_is_found_and_the_question_itself_is_not() {
    let house = House::new();
    let search = house.search();
    let before = house.session("p", "chat:bot:1").await;
    house
        .turn(&before, &["remember the blue door", "yes"], 1)
        .await;
    let now = house
        .store
        .reset(&before, SessionId::fresh(&house.ids), at(2))
        .await
        .unwrap();
    let asking = house
        .turn(&now, &["what was it about the blue door?", "…"], 3)
        .await;
    let chat = Within::Chat(profile("p"), key("chat:bot:1"));
    let recalled = search.search(&chat, asking, "blue door", 5).await.unwrap();
    assert_eq!(texts(&recalled.passages), ["remember the blue door"]);
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn the_words_around_a_hit_are_read_without_calls_and_results() {
    let house = House::new();
    let search = house.search();
    let session = house.session("p", "chat:bot:1").await;
    for n in 0..5 {
        house
            .turn(
                &session,
                &[&format!("question {n}"), &format!("answer {n}")],
                n,
            )
            .await;
    }
    let hit = search
        .search(
            &everything("p"),
            TurnId::fresh(&house.ids),
            "\"question 2\"",
            1,
        )
        .await
        .unwrap();
    let around = search
        .around(&everything("p"), hit.passages[0].id, 2)
        .await
        .unwrap();
    assert_eq!(
        texts(&around),
        [
            "question 1",
            "answer 1",
            "question 2",
            "answer 2",
            "question 3"
        ]
    );
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn an_index_that_is_lost_or_damaged_while_it_is_used_is_made_anew() {
    let house = House::new();
    let search = house.search();
    let session = house.session("p", "chat:bot:1").await;
    house.turn(&session, &["the red kite", "ok"], 1).await;
    let all = everything("p");
    assert_eq!(house.found(&search, &all, "kite").await, ["the red kite"]);
    // Taken away under the open index.
    fs::remove_file(house.path()).unwrap();
    assert_eq!(house.found(&search, &all, "kite").await, ["the red kite"]);
    // Written over, before another gateway opens it.
    let search = house.search();
    fs::write(
        house.path(),
        "this is no database, but it is long enough to be looked at",
    )
    .unwrap();
    assert_eq!(house.found(&search, &all, "kite").await, ["the red kite"]);
    // Damaged in its middle, under the open index.
    let whole = fs::read(house.path()).unwrap();
    let damaged: Vec<u8> = whole
        .iter()
        .take(100)
        .copied()
        .chain(std::iter::repeat_n(0xAA, whole.len().max(20_000)))
        .collect();
    for ending in ["-wal", "-shm"] {
        let mut name = house.path().into_os_string();
        name.push(ending);
        let _absent = fs::remove_file(name);
    }
    fs::write(house.path(), damaged).unwrap();
    let search = house.search();
    let mut last = String::new();
    for _ in 0..3 {
        match search
            .search(&all, TurnId::fresh(&house.ids), "kite", 5)
            .await
        {
            Ok(found) if found.passages.len() == 1 => return house.store.close().await.unwrap(),
            other => last = format!("{other:?}"),
        }
    }
    panic!("it was not made anew: {last}");
}

#[tokio::test]
async fn an_index_of_another_database_is_made_anew() {
    let house = House::new();
    let other = House::new();
    let session = other.session("p", "chat:bot:1").await;
    for n in 0..4 {
        other
            .turn(&session, &["the other house's kite", "ok"], n)
            .await;
    }
    assert_eq!(
        other
            .found(&other.search(), &everything("p"), "kite")
            .await
            .len(),
        1
    );
    other.store.close().await.unwrap();
    let session = house.session("p", "chat:bot:1").await;
    house.turn(&session, &["our own kite", "ok"], 1).await;
    // As after a copy was put back: the index knows more than the database.
    fs::copy(other.path(), house.path()).unwrap();
    assert_eq!(
        house
            .found(&house.search(), &everything("p"), "\"our own\"")
            .await,
        ["our own kite"]
    );
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn what_is_let_go_is_found_no_longer_and_neither_are_its_words() {
    let house = House::new();
    let search = house.search();
    let old = house.session("p", "chat:bot:1").await;
    house.turn(&old, &["an old unicorn", "ok"], 1).await;
    let steps = vec![PlanStep {
        text: "feed it".to_owned(),
        state: StepState::Doing,
    }];
    house
        .store
        .set_plan(old.id(), steps.clone(), at(1))
        .await
        .unwrap();
    assert_eq!(house.store.plan(old.id()).await.unwrap(), steps);
    let new = house.session("p", "chat:bot:2").await;
    house.turn(&new, &["a new unicorn", "ok"], 1_000).await;
    let all = everything("p");
    assert_eq!(house.found(&search, &all, "unicorn").await.len(), 2);
    let cutoffs = Cutoffs {
        words: at(500),
        sent: at(500),
        dead: at(500),
        events: at(500),
        ignored: at(500),
        conversations: Some(at(500)),
        homes: std::collections::BTreeSet::new(),
    };
    house
        .store
        .tidy(Chore::Transcripts, &cutoffs, 0)
        .await
        .unwrap();
    assert_eq!(
        house.found(&search, &all, "unicorn").await,
        ["a new unicorn"]
    );
    assert_eq!(house.store.plan(old.id()).await.unwrap(), []);
    assert_eq!(indexed(&house), 4);
    search.tidy().await.unwrap();
    assert_eq!(indexed(&house), 2);
    house.store.close().await.unwrap();
}

fn indexed(house: &House) -> i64 {
    let db = rusqlite::Connection::open(house.path()).unwrap();
    let words: i64 = db
        .query_row(
            "SELECT count(*) FROM words WHERE words MATCH 'unicorn OR ok'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let lines: i64 = db
        .query_row("SELECT count(*) FROM line", [], |row| row.get(0))
        .unwrap();
    assert_eq!(words, lines);
    lines
}

#[tokio::test]
async fn a_place_where_no_index_can_be_made_is_said_and_turns_go_on() {
    let house = House::new();
    let nowhere = Search::new(
        house.store.clone(),
        std::path::Path::new("/proc/nowhere/search.db"),
    );
    let session = house.session("p", "chat:bot:1").await;
    house.turn(&session, &["hello", "ok"], 1).await;
    let told = nowhere
        .search(&everything("p"), TurnId::fresh(&house.ids), "hello", 5)
        .await;
    assert!(matches!(told, Err(RecallError::Away(_))), "{told:?}");
    house.turn(&session, &["hello again", "ok"], 2).await;
    house.store.close().await.unwrap();
}

#[tokio::test]
async fn many_thousand_words_are_indexed_in_batches() {
    let house = House::new();
    let session = house.session("p", "chat:bot:1").await;
    let words: Vec<String> = (0..1_300).map(|n| format!("number{n} of many")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    house.turn(&session, &words, 1).await;
    let search = house.search();
    let mut seen = Vec::new();
    // A slow machine may need more than one wait.
    for _ in 0..100 {
        let recalled = search
            .search(&everything("p"), TurnId::fresh(&house.ids), "number1299", 5)
            .await
            .unwrap();
        seen = texts(&recalled.passages);
        if recalled.behind == 0 {
            break;
        }
    }
    assert_eq!(seen, ["number1299 of many"]);
    house.store.close().await.unwrap();
}
