//! Questions and answers.

use serde_json::json;
use testkit::http::Ask;
use testkit::model_server::{Gate, Turn};

use super::{PIXEL, World, add_key, joined, pieces, question, streaming, words};
use crate::world::PATIENCE;

/// More than a remark, in one line.
fn long() -> String {
    "a line that says a little more than the one before it; ".repeat(20)
}

#[tokio::test]
async fn a_program_asks_and_reads_the_answer_with_what_it_cost() {
    let world = World::new().await;
    world.model.push(Turn::text("It is **4**.").usage(120, 7));
    let answer = world.ask(&question("2 + 2?")).await;
    assert_eq!(words(&answer), "It is **4**.");
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "default");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["choices"][0]["message"]["role"], "assistant");
    let usage = &answer["usage"];
    assert_eq!(
        (
            &usage["prompt_tokens"],
            &usage["completion_tokens"],
            &usage["total_tokens"]
        ),
        (&json!(120), &json!(7), &json!(127))
    );
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    // Its receipt is written down after it was read.
    let sent = async {
        loop {
            let rows = world.home.objects(&["outbox", "list"]).await;
            assert_eq!(rows[0]["account"], "api");
            if rows[0]["parts"][0]["state"] == "sent" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, sent).await.unwrap();
    assert_eq!(world.model.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_long_answer_is_read_while_it_is_written_and_a_remark_is_not() {
    let world = World::new().await;
    let gate = Gate::new();
    let text = long();
    world
        .model
        .push(Turn::text("Let me look.").then_tool("terminal", json!({ "command": "true" })));
    world.model.push(
        Turn::deltas([text.as_str(), "more "])
            .pause_until(&gate)
            .then_text("and the end."),
    );
    let mut stream = world
        .asking(&streaming("tell me"))
        .listen(world.gateway.address())
        .await
        .unwrap();
    let mut early = Vec::new();
    while joined(&early).is_empty() {
        let event = stream.next().await.unwrap().expect("the stream ended");
        early.push(serde_json::from_str(&event.data).unwrap());
    }
    // The model has not said its last word.
    assert!(text.starts_with(&joined(&early)), "{early:?}");
    gate.release();
    let mut all = early;
    all.extend(pieces(stream).await);
    assert_eq!(joined(&all), format!("{text}more and the end."));
    assert_eq!(all[0]["choices"][0]["delta"]["role"], "assistant");
    let (cost, end) = (all.last().unwrap(), &all[all.len() - 2]);
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!(cost["choices"], json!([]));
    assert_eq!(cost["usage"]["prompt_tokens"], 200);
    assert!(
        all.iter()
            .rev()
            .skip(1)
            .all(|piece| piece["usage"].is_null())
    );
}

#[tokio::test]
async fn words_that_were_no_answer_after_all_are_followed_by_the_answer() {
    let world = World::new().await;
    let remark = long();
    let gate = Gate::new();
    world.model.push(
        Turn::text(&remark)
            .pause_until(&gate)
            .then_tool("terminal", json!({ "command": "true" })),
    );
    world.model.push(Turn::text("It is 4."));
    let mut stream = world
        .asking(&streaming("2 + 2?"))
        .listen(world.gateway.address())
        .await
        .unwrap();
    let mut all = Vec::new();
    while joined(&all).is_empty() {
        let event = stream.next().await.unwrap().expect("the stream ended");
        all.push(serde_json::from_str(&event.data).unwrap());
    }
    gate.release();
    all.extend(pieces(stream).await);
    assert_eq!(joined(&all), format!("{}\n\nIt is 4.", remark.trim()));
}

#[tokio::test]
async fn a_session_is_gone_on_with_and_a_history_is_taken_as_it_comes() {
    let world = World::new().await;
    let in_session = |text: &str| {
        world
            .asking(&question(text))
            .header("x-tidings-session", "notes")
    };
    world.model.push(Turn::text("Noted."));
    world.send(in_session("my cat is Mia")).await;
    world.model.push(Turn::text("Mia."));
    let answer = world.send(in_session("what is my cat's name?")).await;
    assert_eq!(words(&answer.json().unwrap()), "Mia.");
    let told = world.told_model();
    let said: Vec<&str> = told.iter().skip(1).map(|(_, text)| text.as_str()).collect();
    assert_eq!(said, ["my cat is Mia", "Noted.", "what is my cat's name?"]);

    // Who sends the whole conversation along all the same sends nothing new but the last message.
    world.model.push(Turn::text("Still Mia."));
    let picture = format!("data:image/png;base64,{PIXEL}");
    let whole = json!({ "model": "default", "messages": [
        { "role": "user", "content": [{ "type": "image_url", "image_url": { "url": picture } }] },
        { "role": "assistant", "content": "A cat." },
        { "role": "user", "content": "and its name?" },
    ]});
    let ask = world.asking(&whole).header("x-tidings-session", "notes");
    assert_eq!(world.send(ask).await.status, 200);
    let told = world.told_model();
    assert_eq!(told.last().unwrap().1, "and its name?");
    assert_eq!(told.len(), 6, "{told:?}");

    // Another key of the same profile has conversations of its own.
    let other = add_key(&world.home, "other-program", "default").await;
    world.model.push(Turn::text("Which cat?"));
    let ask = Ask::post("/v1/chat/completions")
        .header("authorization", format!("Bearer {other}"))
        .header("x-tidings-session", "notes")
        .json(&question("and now?"));
    assert_eq!(world.send(ask).await.status, 200);
    assert_eq!(world.told_model().len(), 2);

    world.model.push(Turn::text("Rex."));
    let body = json!({ "model": "default", "messages": [
        { "role": "system", "content": "You know pets." },
        { "role": "user", "content": "my dog is Rex" },
        { "role": "assistant", "content": "Noted." },
        { "role": "user", "content": "its name?" },
    ]});
    assert_eq!(words(&world.ask(&body).await), "Rex.");
    let told = world.told_model();
    assert_eq!(told[1], ("user".to_owned(), "my dog is Rex".to_owned()));
    assert_eq!(told[2], ("assistant".to_owned(), "Noted.".to_owned()));
    assert!(
        told[3].1.contains("You know pets.") && told[3].1.ends_with("its name?"),
        "{told:?}"
    );
    assert_eq!(told.len(), 4);
    assert_eq!(world.model.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn two_requests_of_a_session_are_answered_in_their_order() {
    let world = World::new().await;
    let gate = Gate::new();
    world.model.push(Turn::text("one").pause_until(&gate));
    world.model.push(Turn::text("two"));
    let ask = |text: &str| {
        world
            .asking(&question(text))
            .header("x-tidings-session", "s")
    };
    let first = world.send(ask("first"));
    let second = async {
        world.asked_model(1).await;
        let (second, _) = tokio::join!(world.send(ask("second")), async {
            // By the time that this is answered the second one has been read.
            world.send(Ask::get("/health")).await;
            gate.release();
        });
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(words(&first.json().unwrap()), "one");
    assert_eq!(words(&second.json().unwrap()), "two");
    let told = world.told_model();
    assert_eq!(
        told.iter().filter(|(role, _)| role == "user").count(),
        2,
        "{told:?}"
    );
}

#[tokio::test]
async fn pictures_come_in_and_files_go_out_to_who_has_the_key() {
    let world = World::new().await;
    world.model.push(Turn::tool(
        "terminal",
        json!({ "command": "cp /inbox/picture-1.png copy.png && printf a,b > table.csv" }),
    ));
    world.model.push(Turn::text(
        "Both.\nMEDIA:/workspace/copy.png\nMEDIA:/workspace/table.csv",
    ));
    let body = json!({ "model": "default", "messages": [{ "role": "user", "content": [
        { "type": "text", "text": "copy it" },
        { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PIXEL}") } },
    ]}]});
    let answer = world.ask(&body).await;
    let text = words(&answer);
    let attachments = answer["choices"][0]["message"]["attachments"]
        .as_array()
        .unwrap();
    assert_eq!(attachments.len(), 2, "{answer}");
    assert_eq!(attachments[0]["type"], "image/png");
    let url = attachments[0]["url"].as_str().unwrap();
    assert!(
        text.starts_with("Both.") && text.contains(&format!("![copy.png]({url})")),
        "{text}"
    );
    let path = url
        .strip_prefix(&format!("http://{}", world.gateway.address()))
        .unwrap();
    let got = world.send(world.with_key(Ask::get(path))).await;
    assert_eq!(got.status, 200);
    assert!(got.body.starts_with(b"\x89PNG"));
    assert_eq!(
        got.header("content-security-policy"),
        Some("sandbox; default-src 'none'")
    );

    assert_eq!(world.send(Ask::get(path)).await.status, 401);
    let in_query = Ask::get(format!("{path}?api_key={}", world.key));
    assert_eq!(world.send(in_query).await.status, 401);
    let other = add_key(&world.home, "another", "default").await;
    let stolen = Ask::get(path).header("authorization", format!("Bearer {other}"));
    assert_eq!(world.send(stolen).await.status, 404);
    let nothing = format!("/v1/files/file-{}/content", "0".repeat(64));
    assert_eq!(
        world.send(world.with_key(Ask::get(nothing))).await.status,
        404
    );
}

#[tokio::test]
async fn a_provider_that_refuses_is_an_error_with_the_sentence_also_in_a_stream() {
    let world = World::new().await;
    let refusal = || Turn::status(401, r#"{"error":{"message":"no such key"}}"#, &[]);
    world.model.push(refusal());
    let answer = world.send(world.asking(&question("hi"))).await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    let error = answer.json().unwrap()["error"].clone();
    assert_eq!(error["code"], "turn_failed");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("could not answer"),
        "{error}"
    );
    // Nothing was said yet, so a stream that was asked for is an error of its own, too.
    world.model.push(refusal());
    let answer = world.send(world.asking(&streaming("hi"))).await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    // A word with a slash is a word.
    world.model.push(Turn::text("That is no command here."));
    let answer = world.ask(&question("/new")).await;
    assert_eq!(words(&answer), "That is no command here.");
}

#[tokio::test]
async fn a_hundred_programs_at_once_each_read_their_own_answer() {
    let world = World::new().await;
    world.model.answer_by(|body| {
        let messages = body["messages"].as_array().unwrap();
        let asked = messages.last().unwrap()["content"].to_string();
        Turn::text(&format!("you said {}", asked.trim_matches('"')))
    });
    let asked = (0..100).map(|number| {
        let body = if number % 2 == 0 {
            question(&number.to_string())
        } else {
            streaming(&number.to_string())
        };
        let world = &world;
        async move {
            let said = if number % 2 == 0 {
                words(&world.ask(&body).await).to_owned()
            } else {
                joined(&world.streamed(&body).await)
            };
            assert_eq!(said, format!("you said {number}"));
        }
    });
    futures_util::future::join_all(asked).await;
}

#[tokio::test]
async fn nobody_is_asked_where_a_program_waits_and_the_turn_goes_on_at_once() {
    let world = World::new().await;
    world.model.push(Turn::tool(
        "ask",
        json!({ "question": "Which colour?", "choices": ["red", "blue"] }),
    ));
    world.model.push(Turn::text("I took red."));
    let answer = world.ask(&question("paint it")).await;
    assert_eq!(words(&answer), "I took red.");
    let told = world.told_model();
    assert!(
        told.iter()
            .any(|(role, text)| role == "tool" && text.contains("nobody can be asked here")),
        "{told:?}"
    );
}
