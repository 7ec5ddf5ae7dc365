//! A conversation that fills the model's window goes on: its older part becomes notes, and nothing wedges it.

use std::sync::Arc;

use model::{Content, Facts, Message, ModelError, Reply};
use serde_json::json;
use session::{Busy, TurnLine as _};

use crate::scripted::Scripted;
use crate::world::{House, calls, message, says, scope};

const SMALL: Facts = Facts {
    window: Some(16_000),
    images: None,
    price: None,
};

fn too_long() -> Result<Reply, ModelError> {
    Err(ModelError::TooLong {
        provider: "acme".to_owned(),
        cause: "16,000 tokens at most".to_owned(),
    })
}

async fn write(house: &House, id: i64, text: &str) -> String {
    let before = house.ended();
    house
        .run(async |handle| {
            handle.enqueue(message(id, text, Busy::Queue));
            house
                .until("the turn has ended", |house| house.ended() > before)
                .await;
        })
        .await;
    let sent = house.sent();
    format!("{:?}", sent.last().map(|sent| &sent.parts))
}

fn words(message: &Message) -> String {
    match message {
        Message::User { content } => content
            .iter()
            .map(|piece| match piece {
                Content::Text { text } => text.as_str(),
                Content::Image { .. } => "",
            })
            .collect(),
        Message::Assistant { text, .. } => text.clone(),
        Message::Tool { content, .. } => content.clone(),
    }
}

/// Whether a request is one for notes.
fn is_for_notes(request: &model::Request) -> bool {
    request.system.starts_with("You keep the notes")
}

/// A model that answers each message, and writes notes when it is asked for them.
fn lines(answers: usize) -> Vec<Result<Reply, ModelError>> {
    (0..answers)
        .map(|n| Ok(says(&format!("Noted, number {n}."))))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_long_conversation_becomes_notes_and_stays_below_the_window() {
    let model = Scripted::with("m", SMALL, lines(99));
    let house = House::asking(&[&model]);
    for id in 1..=40 {
        let text = format!("Message {id}: {}", "some words of mine. ".repeat(150));
        let said = write(&house, id, &text).await;
        assert!(said.contains("Noted"), "{said}");
    }
    let asked = model.asked();
    let notes = asked.iter().filter(|request| is_for_notes(request)).count();
    assert!(notes >= 2, "{notes}");
    for request in asked.iter().filter(|request| !is_for_notes(request)) {
        let size: usize = request
            .messages
            .iter()
            .map(|message| words(message).len())
            .sum();
        // A character is a quarter of a token or so.
        assert!(size / 4 < 16_000, "{size}");
    }
    let last = asked.last().unwrap();
    assert!(
        words(&last.messages[0]).contains("These are its notes"),
        "{:?}",
        last.messages[0]
    );
    assert!(words(last.messages.last().unwrap()).contains("Message 40"));
    // Notes stand in for words; the words are still there.
    assert!(house.read().contains("Message 1:"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_too_long_is_asked_again_with_less() {
    let mut script = lines(3);
    script.push(too_long());
    script.extend(lines(2));
    let model = Scripted::new("m", script);
    let house = House::asking(&[&model]);
    for id in 1..=3 {
        write(&house, id, &"words ".repeat(2_000)).await;
    }
    let said = write(&house, 4, "And now?").await;
    assert!(said.contains("Noted"), "{said}");
    let asked = model.asked();
    assert!(is_for_notes(&asked[4]));
    assert!(words(asked[5].messages.last().unwrap()).contains("And now?"));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_made_shorter_ends_in_a_sentence_and_the_next_message_is_read() {
    let model = Scripted::new(
        "m",
        [too_long(), Ok(says("notes")), Ok(says("Hello again."))],
    );
    let house = House::asking(&[&model]);
    let said = write(&house, 1, "Hi").await;
    assert!(
        said.contains("too long for acme") && said.contains("/new"),
        "{said}"
    );
    assert!(write(&house, 2, "Hi").await.contains("Hello again."));
}

#[tokio::test]
async fn without_a_model_for_the_notes_the_conversation_goes_on_all_the_same() {
    let model = Arc::new(Talker {
        notes: None,
        ..Talker::new(lines(7))
    });
    let house = House::with_a_shell_and(model.clone());
    for id in 1..=6 {
        write(
            &house,
            id,
            &format!("Message {id}\n{}", "words ".repeat(1_400)),
        )
        .await;
    }
    let said = write(&house, 7, &format!("Message 7\n{}", "words ".repeat(1_400))).await;
    assert!(said.contains("Noted"), "{said}");
    let asked = model.asked();
    let first = words(&asked.last().unwrap().messages[0]);
    assert!(first.contains("- Message 2"), "{first}");
}

#[tokio::test]
async fn a_turn_of_many_long_results_keeps_the_request_in_mind() {
    let results = (0..12).map(|n| {
        let command = format!("seq {n} 3000");
        Ok(calls("terminal", json!({ "command": command })))
    });
    let model = Arc::new(Talker::new(results.collect()));
    let house = House::with_a_shell_and(model.clone());
    let said = write(&house, 1, "Count for me, please: the code word is heron.").await;
    assert!(said.contains("That is all."), "{said}");
    let asked = model.asked();
    assert!(asked.iter().any(is_for_notes));
    let last = asked
        .iter()
        .rfind(|request| !is_for_notes(request))
        .unwrap();
    let all: String = last.messages.iter().map(words).collect();
    assert!(all.contains("the code word is heron"), "{all}");
    // Each call still stands right before its result.
    for pair in last.messages.windows(2) {
        if let [before, Message::Tool { .. }] = pair {
            assert!(!matches!(before, Message::User { .. }), "{before:?}");
        }
    }
}

#[tokio::test]
async fn a_result_that_is_too_long_lies_whole_in_the_sandbox() {
    let model = Scripted::with(
        "m",
        SMALL,
        [
            Ok(calls("terminal", json!({ "command": "seq 1 20000" }))),
            Ok(calls(
                "search_files",
                json!({ "pattern": "^12345$", "path": "/workspace/tool-results" }),
            )),
            Ok(says("Found.")),
        ],
    );
    let house = House::with_a_shell_and(model.clone());
    write(&house, 1, "Count").await;
    let results = house.results();
    assert!(results[0].starts_with("1\n2\n3\n"), "{}", results[0]);
    assert!(results[0].contains("20000") && results[0].len() < 4_000);
    assert!(
        results[0].contains("/workspace/tool-results/"),
        "{}",
        results[0]
    );
    assert!(results[1].contains("12345"), "{}", results[1]);
}

#[tokio::test(start_paused = true)]
async fn context_shows_what_fills_the_window() {
    let model = Scripted::with("acme/m", SMALL, lines(1));
    let house = House::asking(&[&model]);
    write(&house, 1, &"words ".repeat(700)).await;
    house
        .run(async |handle| {
            let fill = handle.fill(&scope()).await.unwrap().unwrap();
            assert_eq!(
                (fill.route.as_str(), fill.window, fill.known),
                ("acme/m", 16_000, true)
            );
            assert!((1_000..2_000).contains(&fill.people), "{fill:?}");
            assert!(
                fill.prompt > 100 && fill.tools > 100 && fill.answers > 0,
                "{fill:?}"
            );
            assert_eq!((fill.notes, fill.results), (0, 0));
        })
        .await;
}

/// A model that goes through its script, and writes notes whenever it is asked for them.
struct Talker {
    script: Arc<Scripted>,
    /// None: it refuses.
    notes: Option<&'static str>,
    asked: std::sync::Mutex<Vec<model::Request>>,
}

impl Talker {
    fn new(script: Vec<Result<Reply, ModelError>>) -> Self {
        let script = script.into_iter().chain([Ok(says("That is all."))]);
        Self {
            script: Scripted::with("m", SMALL, script),
            notes: Some("It counts."),
            asked: std::sync::Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<model::Request> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl model::ModelPort for Talker {
    fn name(&self) -> &str {
        "m"
    }

    fn facts(&self) -> Facts {
        SMALL
    }

    async fn ask(
        &self,
        request: &model::Request,
        deltas: model::DeltaSink<'_>,
    ) -> Result<Reply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        if is_for_notes(request) {
            return self.notes.map(says).ok_or(ModelError::Refused {
                provider: "acme".to_owned(),
                cause: "no notes".to_owned(),
            });
        }
        self.script.ask(request, deltas).await
    }
}
