//! The outbox, seen and acted upon.

use std::time::Duration;

use chat::{Body, Fault, FaultKind, Op, Receipt, Shape, ThrottleScope};
use outbox::{Death, MessageRow, PartState};
use sandbox::{ArtifactRef, Taken};
use serde_json::{Value, json};
use testkit::http::{Answer, Ask};
use waybill::{Clock as _, Timestamp};

use crate::shelf::{attempt, id, parcel, part, text};
use crate::world::{World, profile};

async fn get(world: &World, cookie: &str, path: &str) -> Answer {
    world.send(Ask::get(path).header("cookie", cookie)).await
}

async fn post(world: &World, cookie: &str, path: &str) -> Answer {
    world.send(Ask::post(path).header("cookie", cookie)).await
}

fn after(from: Timestamp, seconds: u64) -> Timestamp {
    from + Duration::from_secs(seconds)
}

/// A parcel that was throttled, then lost without an answer, then given up.
pub(crate) fn unlucky(now: Timestamp) -> MessageRow {
    let mut words = text(1, PartState::Failed, "The report of *Monday*");
    words.attempts = vec![
        attempt(1, now, Some("throttled"), Some("429: retry after 9")),
        attempt(2, after(now, 9), Some("unknown"), None),
        attempt(
            3,
            after(now, 20),
            Some("perm_chat"),
            Some("403: bot was blocked"),
        ),
    ];
    words.tries = 2;
    words.fault = Some(Fault::new(FaultKind::PermChat, "bot was blocked").with_code(403));
    words.death = Some(Death {
        reason: "bot was blocked".to_owned(),
        at: after(now, 21),
        notice: Some(id(99)),
        resolved: None,
    });
    parcel(1, "default", "bot:77", now, vec![words])
}

/// A parcel that the platform lets wait for nine seconds.
pub(crate) fn throttled(now: Timestamp) -> MessageRow {
    let mut words = text(1, PartState::Retry, "soon");
    let kind = FaultKind::Throttled {
        after: Duration::from_secs(9),
        scope: ThrottleScope::Lane,
    };
    words.fault = Some(Fault::new(kind, "Telegram said: wait 9 s"));
    words.next_at = after(now, 9);
    words.attempts = vec![attempt(1, now, Some("throttled"), Some("wait 9 s"))];
    parcel(2, "default", "bot:1", now, vec![words])
}

#[tokio::test]
async fn a_parcel_is_told_with_its_whole_history() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let id = world.shelf.put(unlucky(now));
    let told = get(&world, &cookie, &format!("/api/outbox/{id}")).await;
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json().unwrap();
    assert_eq!(
        (
            &told["id"],
            &told["state"],
            &told["profile"],
            &told["account"],
            &told["chat"]
        ),
        (
            &json!(id.to_string()),
            &json!("failed"),
            &json!("default"),
            &json!("bot"),
            &json!("77")
        )
    );
    let part = &told["parts"][0];
    assert_eq!(part["text"], "The report of *Monday*");
    assert_eq!(part["fault"]["kind"], "perm_chat");
    assert!(
        part["fault"]["meaning"]
            .as_str()
            .unwrap()
            .contains("blocked")
    );
    assert_eq!(part["death"]["reason"], "bot was blocked");
    assert_eq!(part["verbs"], json!(["retry", "mark-sent"]));
    let ends: Vec<&Value> = part["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["outcome"])
        .collect();
    assert_eq!(ends, ["throttled", "unknown", "perm_chat"]);
}

#[tokio::test]
async fn the_list_is_narrowed_down_and_turned_over_page_by_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    for (number, chat, state) in [
        (1, "bot:1", PartState::Sent),
        (2, "bot:2", PartState::Retry),
        (3, "other:1", PartState::Retry),
        (4, "bot:1", PartState::Failed),
    ] {
        let made = after(now, number * 60);
        let parts = vec![text(1, state, "words")];
        world
            .shelf
            .put(parcel(number, "default", chat, made, parts));
    }
    let ids = async |query: &str| {
        let answer = get(&world, &cookie, &format!("/api/outbox{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        let list = answer.json().unwrap();
        let ids: Vec<u64> = list["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let digits = row["id"].as_str().unwrap().trim_start_matches("msg_");
                u64::from_str_radix(digits, 16).unwrap()
            })
            .collect();
        (ids, list["next"].clone())
    };
    assert_eq!(ids("").await, (vec![4, 3, 2, 1], Value::Null));
    assert_eq!(ids("?state=&profile=&chat=").await.0, [4, 3, 2, 1]);
    assert_eq!(ids("?state=retry").await.0, [3, 2]);
    assert_eq!(ids("?account=bot&chat=1").await.0, [4, 1]);
    assert_eq!(ids("?profile=work").await.0, [] as [u64; 0]);
    let (first, next) = ids("?most=3").await;
    assert_eq!(
        (first, next.as_str().unwrap()),
        (vec![4, 3, 2], id(2).to_string().as_str())
    );
    let rest = format!("?most=3&before={}", id(2));
    assert_eq!(ids(&rest).await, (vec![1], Value::Null));
    for (query, word) in [
        ("?state=lost", "states are"),
        ("?before=7", "msg_"),
        ("?most=0", "between 1 and 200"),
        ("?most=201", "between 1 and 200"),
        ("?stat=sent", "unknown field"),
        ("?account=No%20Name", "No Name"),
    ] {
        let refused = get(&world, &cookie, &format!("/api/outbox{query}")).await;
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.text().contains(word), "{query}: {}", refused.text());
    }
}

#[tokio::test]
async fn what_died_is_sent_again_and_what_arrived_is_not() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let parts = vec![
        text(1, PartState::Sent, "one"),
        text(2, PartState::Failed, "two"),
        text(3, PartState::Held, "three"),
    ];
    let id = world.shelf.put(parcel(1, "default", "bot:1", now, parts));
    let of = |verb: &str| format!("/api/outbox/{id}/{verb}");

    let acted = post(&world, &cookie, &of("retry?part=2")).await;
    assert_eq!(acted.status, 200, "{}", acted.text());
    let acted = acted.json().unwrap();
    assert_eq!(
        acted["changed"],
        json!([{ "part": 2, "state": "queued", "why": null }])
    );
    assert_eq!(acted["left"], json!([]));

    let acted = post(&world, &cookie, &of("cancel")).await.json().unwrap();
    assert_eq!(acted["changed"].as_array().unwrap().len(), 2);
    let left = &acted["left"][0];
    assert_eq!((&left["part"], &left["state"]), (&json!(1), &json!("sent")));
    assert_eq!(left["why"], "it has arrived already");

    let refused = post(&world, &cookie, &of("cancel")).await;
    assert_eq!(refused.status, 409);
    let error = refused.json().unwrap();
    assert_eq!(error["error"]["code"], "conflict");
    assert_eq!(
        error["error"]["text"],
        "nothing was changed; part 1: it has arrived already; part 2: it was taken back already; part 3: it was taken back already"
    );

    for path in [
        of("retry?part=9"),
        format!("/api/outbox/{}/retry", crate::shelf::id(7)),
        of("destroy"),
    ] {
        assert_eq!(post(&world, &cookie, &path).await.status, 404, "{path}");
    }
    for path in [of("retry?part=x"), "/api/outbox/7/retry".to_owned()] {
        assert_eq!(post(&world, &cookie, &path).await.status, 400, "{path}");
    }
}

#[tokio::test]
async fn nobody_acts_without_the_cookie_or_from_another_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let parts = vec![text(1, PartState::Failed, "words")];
    let id = world.shelf.put(parcel(1, "default", "bot:1", now, parts));
    let path = format!("/api/outbox/{id}/retry");
    assert_eq!(world.send(Ask::post(&path)).await.status, 401);
    for origin in ["https://evil.example", "null", "http://127.0.0.1"] {
        let foreign = Ask::post(&path)
            .header("cookie", &cookie)
            .header("origin", origin);
        assert_eq!(world.send(foreign).await.status, 403, "{origin}");
    }
    let told = get(&world, &cookie, &format!("/api/outbox/{id}")).await;
    assert_eq!(told.json().unwrap()["state"], "failed");
    for page in ["/outbox", &format!("/outbox/{id}")] {
        let gate = world.send(Ask::get(page)).await;
        assert_eq!(gate.status, 401);
        assert!(gate.text().contains("tidings login") && !gate.text().contains("words"));
    }
}

#[tokio::test]
async fn the_page_tells_a_parcels_way_without_a_script() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let id = world.shelf.put(unlucky(now));
    let page = get(&world, &cookie, &format!("/outbox/{id}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let html = page.text();
    let mut rest = html.as_str();
    for piece in [
        "Given up",
        "The report of *Monday*",
        ">Made<",
        "2026-01-01T00:00:00Z",
        ">Attempt 1<",
        "asked to wait",
        "429: retry after 9",
        ">Waited<",
        "8.9 s",
        ">Attempt 2<",
        "2026-01-01T00:00:09Z",
        "no answer came",
        "it may have arrived, or not",
        ">Attempt 3<",
        "the chat is closed to us",
        ">Given up<",
        "bot was blocked",
        "/outbox/msg_00000000000000000000000000000063",
        "data-verb=\"retry\"",
        "be seen twice",
    ] {
        rest = rest
            .split_once(piece)
            .unwrap_or_else(|| panic!("{piece} is not there, or not in its place: {html}"))
            .1;
    }
    assert!(
        !html.contains("data-verb=\"cancel\""),
        "a dead one can't be cancelled"
    );
}

#[tokio::test]
async fn what_was_dead_is_told_as_sent_again_and_not_as_waiting() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let mut row = unlucky(now);
    let part = &mut row.parts[0];
    part.state = PartState::Sent;
    part.receipt = Some(Receipt::new("4711"));
    part.attempts
        .push(attempt(4, after(now, 3_600), Some("sent"), None));
    let death = part.death.as_mut().unwrap();
    death.reason = "403: bot was blocked".to_owned();
    death.resolved = Some(("retry".to_owned(), after(now, 3_599)));
    let id = world.shelf.put(row);
    let html = get(&world, &cookie, &format!("/outbox/{id}")).await.text();
    let dead = html.split_once(">Given up<").unwrap().1;
    assert!(
        !dead.contains("403: bot was blocked"),
        "the reason is told twice"
    );
    assert!(!dead.contains(">Waited<"), "{dead}");
    let again = dead.split_once("You sent it again").unwrap().1;
    assert!(again.contains(">Attempt 4<") && again.contains("there, message 4711"));
    assert!(!html.contains("data-verb"), "nothing can be done with it");
}

#[tokio::test]
async fn a_wait_is_told_with_its_end() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let id = world.shelf.put(throttled(now));
    world.shelf.wait("bot", Some(after(now, 9)), Some(now));
    let told = get(&world, &cookie, &format!("/api/outbox/{id}"))
        .await
        .json()
        .unwrap();
    assert_eq!(told["parts"][0]["fault"]["wait_ms"], 9_000);
    assert_eq!(told["parts"][0]["next_at"], "2026-01-01T00:00:09Z");
    let html = get(&world, &cookie, &format!("/outbox/{id}")).await.text();
    for piece in [
        "Telegram said: wait 9 s",
        "Waits until",
        "<time datetime=\"2026-01-01T00:00:09Z\" data-as=\"until\">",
        "<b>bot</b>: the platform asked it to wait",
    ] {
        assert!(html.contains(piece), "{piece}: {html}");
    }
    assert!(!html.contains("it rests"), "what is over is not told");
}

#[tokio::test]
async fn what_strangers_wrote_is_never_markup() {
    const EVIL: &str = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let blob = world.blobs.put(&profile(), "a", b"x".to_vec());
    let file = Op::File {
        artifact: ArtifactRef {
            profile: profile(),
            blob,
            name: EVIL.to_owned(),
            taken: Taken::Received,
        },
        shape: Shape::Document,
        caption: Some(Body::Markdown(EVIL.to_owned())),
    };
    let mut words = text(1, PartState::Sent, &EVIL.repeat(20));
    words.receipt = Some(Receipt::new(EVIL));
    words.attempts = vec![attempt(1, now, Some("sent"), Some(EVIL))];
    let mut paper = part(2, PartState::Failed, file);
    paper.fault = Some(Fault::new(FaultKind::PermItem, EVIL));
    paper.attempts = vec![attempt(1, now, Some(EVIL), Some(EVIL))];
    paper.death = Some(Death {
        reason: EVIL.to_owned(),
        at: now,
        notice: None,
        resolved: Some((EVIL.to_owned(), now)),
    });
    let mut row = parcel(1, "default", "bot:1", now, vec![words, paper]);
    row.source = EVIL.to_owned();
    let id = world.shelf.put(row);
    let query = "?chat=%3Cscript%3Ealert(1)%3C/script%3E&state=%22%3E%3Cscript%3E";
    for path in [
        "/outbox".to_owned(),
        format!("/outbox/{id}"),
        format!("/outbox/{id}{query}"),
        "/outbox/%3Cscript%3Ealert(1)%3C%2Fscript%3E".to_owned(),
    ] {
        let html = get(&world, &cookie, &path).await.text();
        assert_eq!(html.matches("<script").count(), 1, "{path}: {html}");
        assert!(!html.contains("<img src=x"), "{path}: {html}");
        assert!(!html.contains("script>alert"), "{path}: {html}");
    }
}

#[tokio::test]
async fn the_file_of_a_part_is_opened_from_its_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    let blob = world.blobs.put(&profile(), "table.csv", b"a,b\n".to_vec());
    let artifact = ArtifactRef {
        profile: profile(),
        blob,
        name: "table.csv".to_owned(),
        taken: Taken::Received,
    };
    let file = Op::File {
        artifact,
        shape: Shape::Document,
        caption: None,
    };
    let parts = vec![part(1, PartState::Sent, file)];
    let id = world.shelf.put(parcel(1, "default", "bot:1", now, parts));
    let html = get(&world, &cookie, &format!("/outbox/{id}")).await.text();
    let url = html
        .split('"')
        .find(|piece| piece.starts_with("/files/"))
        .unwrap_or_else(|| panic!("no file: {html}"));
    assert_eq!(get(&world, &cookie, url).await.body, b"a,b\n");
    assert!(html.contains("4 bytes"));
}

#[tokio::test]
async fn an_empty_outbox_and_a_broken_one_say_what_to_do() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let empty = get(&world, &cookie, "/outbox").await;
    assert_eq!(empty.status, 200);
    assert!(empty.text().contains("Nothing was sent yet"));
    let narrowed = get(&world, &cookie, "/outbox?state=held&chat=bot").await;
    assert!(narrowed.text().contains("No parcel is like that"));
    let missing = get(&world, &cookie, &format!("/outbox/{}", id(7))).await;
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("There is no such parcel"));
    let wrong = get(&world, &cookie, "/outbox?state=lost").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("states are") && wrong.text().contains("Show everything"));
    world.shelf.break_down(true);
    let broken = get(&world, &cookie, "/outbox").await;
    assert_eq!(broken.status, 503);
    assert!(broken.text().contains("the store is closed"));
    assert_eq!(get(&world, &cookie, "/api/outbox").await.status, 503);
}

#[tokio::test]
async fn the_counts_are_those_of_what_is_open() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let now = world.clock.now();
    for (number, states) in [
        (1, vec![PartState::Held, PartState::Held, PartState::Sent]),
        (2, vec![PartState::Retry, PartState::Queued]),
    ] {
        let parts = states
            .into_iter()
            .zip(1..)
            .map(|(state, n)| text(n, state, "words"))
            .collect();
        world
            .shelf
            .put(parcel(number, "default", "bot:1", now, parts));
    }
    let html = get(&world, &cookie, "/outbox?chat=bot").await.text();
    for chip in [
        "Held for you<b>2</b>",
        "Again later<b>1</b>",
        "Waiting<b>1</b>",
        "href=\"/outbox?state=held&#38;chat=bot\"",
    ] {
        assert!(html.contains(chip), "{chip}: {html}");
    }
}
