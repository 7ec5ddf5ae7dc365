//! `tidings outbox` and `/outbox`: what a person sees of parcels that did not arrive, and does about them.

use serde_json::Value;
use testkit::model_server::Turn;
use testkit::telegram::{Call, Rule, Trouble};

use crate::world::{A, B, OWNER, PATIENCE, Pair, words};

/// Seconds that the fake asks to wait: short enough for a test, long enough to be seen.
const WAIT: u64 = 4;

/// An answer that the platform meets with that trouble, until it is healed.
fn ask_in_trouble(pair: &Pair, text: &'static str, trouble: Trouble) {
    pair.telegram.script(
        Rule::on("sendMessage")
            .when(move |call: &Call| *call.param("text") == text)
            .always(),
        trouble,
    );
    pair.script("p", Turn::text(text));
    pair.ask(A, "say it");
}

fn refused() -> Trouble {
    Trouble::BadRequest("not this one".to_owned())
}

/// The id of the only parcel with a part in that state, once there is one.
async fn only(pair: &Pair, state: &str) -> String {
    let look = async {
        loop {
            let rows = pair
                .home
                .objects(&["outbox", "list", "--state", state])
                .await;
            if let [row] = rows.as_slice() {
                return row["id"].as_str().unwrap().to_owned();
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, look).await;
    found.unwrap_or_else(|_late| panic!("no parcel is {state}"))
}

/// What a command says on standard output, and its exit code.
async fn said(pair: &Pair, arguments: &[&str]) -> (String, i32) {
    let output = pair.home.run(arguments).await;
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap())
}

/// Cancels a parcel as soon as that can be done: not while an attempt is on the wire.
async fn cancel(pair: &Pair, id: &str) -> String {
    let cancel = async {
        loop {
            let (text, code) = said(pair, &["outbox", "cancel", id, "--part", "1"]).await;
            if code == 0 {
                return text;
            }
            assert!(
                text.contains("part 1 can't be cancelled: it is on its way"),
                "{text}"
            );
        }
    };
    tokio::time::timeout(PATIENCE, cancel).await.unwrap()
}

fn count(pair: &Pair, text: &str) -> usize {
    let seen = pair.telegram.chat(A, OWNER);
    words(&seen).iter().filter(|said| **said == text).count()
}

#[tokio::test]
async fn what_was_refused_is_sent_once_when_its_owner_wants_it_again() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    ask_in_trouble(&pair, "mind this", refused());
    pair.seen(A, 1).await;
    pair.settled().await;
    let id = only(&pair, "failed").await;
    let (table, _) = said(&pair, &["outbox", "list", "--state", "failed"]).await;
    assert!(
        table.contains(&id) && table.contains("mind this"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    let (life, _) = said(&pair, &["outbox", "show", &id]).await;
    for words in ["attempt 1", "not this one", "given up"] {
        assert!(life.contains(words), "{words}: {life}");
    }
    assert!(!life.contains('\u{1b}'), "{life}");
    let home = pair.home.path();
    let retry = format!("tidings outbox retry {id} --home {}", home.display());
    assert!(life.contains(&retry), "{life}");

    pair.telegram.heal();
    let (told, code) = said(&pair, &["outbox", "retry", &id]).await;
    assert_eq!(
        (told.trim(), code),
        (
            "part 1: failed → queued; it is sent as soon as its chat's turn comes",
            0
        )
    );
    pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(count(&pair, "mind this"), 1);
    let (told, code) = said(&pair, &["outbox", "retry", &id]).await;
    assert!(
        told.contains("part 1 can't be sent again: it has arrived"),
        "{told}"
    );
    assert_eq!(code, 1);
    let (_, code) = said(&pair, &["outbox", "list", "--chat", "a:77", "--json"]).await;
    assert_eq!(code, 0);

    // The same with nobody at work: it is sent by the next start.
    ask_in_trouble(&pair, "and this", refused());
    pair.seen(A, 3).await;
    pair.settled().await;
    let id = only(&pair, "failed").await;
    assert!(gateway.terminate().await.success());
    pair.telegram.heal();
    let (told, code) = said(&pair, &["outbox", "retry", &id, "--part", "1"]).await;
    assert!(told.contains("no gateway runs on this home now"), "{told}");
    assert_eq!(code, 0);
    let _gateway = pair.up().await;
    pair.seen(A, 4).await;
    pair.settled().await;
    assert_eq!(count(&pair, "and this"), 1);
    pair.clean();
}

#[tokio::test]
async fn what_was_cancelled_while_it_waited_is_never_sent_and_the_chat_goes_on() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    ask_in_trouble(&pair, "too much", Trouble::Flood(WAIT));
    let id = only(&pair, "retry").await;
    pair.script("p", Turn::text("behind it"));
    pair.ask(A, "and?");
    let told = cancel(&pair, &id).await;
    assert!(
        told.contains("→ cancelled; it is not sent any more"),
        "{told}"
    );
    pair.seen(A, 1).await;

    ask_in_trouble(&pair, "too much again", Trouble::Flood(WAIT));
    let id = only(&pair, "retry").await;
    assert!(gateway.terminate().await.success());
    let told = cancel(&pair, &id).await;
    assert!(told.contains("part 1: retry → cancelled"), "{told}");
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("at last"));
    pair.ask(A, "now?");
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(words(&seen), ["behind it", "at last"]);
    pair.clean();
}

#[tokio::test]
async fn a_chat_sees_its_own_parcels_and_sends_them_again() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    ask_in_trouble(&pair, "mind this", refused());
    pair.seen(A, 1).await;
    pair.settled().await;
    let id = only(&pair, "failed").await;
    let (a, b) = (pair.telegram.chat(A, OWNER).len(), 0);
    pair.ask(A, "/outbox");
    let seen = pair.seen(A, a + 1).await;
    let told = words(&seen).pop().unwrap().to_owned();
    assert!(
        told.contains(&id) && told.contains("not this one"),
        "{told}"
    );

    // Another chat of the same person, with another bot.
    pair.ask(B, "/outbox");
    let seen = pair.seen(B, b + 1).await;
    assert_eq!(
        words(&seen),
        ["Everything that was promised here has arrived."]
    );
    pair.ask(B, &format!("/resend {id}"));
    let seen = pair.seen(B, b + 2).await;
    assert!(words(&seen)[1].contains("no such parcel here"), "{seen:?}");

    pair.telegram.heal();
    pair.ask(A, &format!("/resend {id}"));
    pair.seen(A, a + 3).await;
    pair.settled().await;
    assert_eq!(count(&pair, "mind this"), 1);
    let rows = pair.home.objects(&["outbox", "show", &id]).await;
    assert_eq!(rows[0]["state"], "sent");
    assert_ne!(rows[0]["parts"][0]["receipt"], Value::Null);
    pair.clean();
}

#[tokio::test]
async fn an_id_that_names_nothing_says_where_ids_are() {
    let pair = Pair::in_processes().await;
    let (told, code) = said(&pair, &["outbox", "cancel", "msg_1"]).await;
    assert!(
        told.contains("`tidings outbox list` shows the ids"),
        "{told}"
    );
    assert_eq!(code, 2);
    let unknown = format!("msg_{}", "0".repeat(32));
    let (told, code) = said(&pair, &["outbox", "retry", &unknown]).await;
    assert!(
        told.contains("`tidings up`"),
        "nothing was made yet: {told}"
    );
    assert_eq!(code, 1);
    let gateway = pair.up().await;
    for verb in ["show", "retry", "cancel", "mark-sent"] {
        let (told, code) = said(&pair, &["outbox", verb, &unknown]).await;
        assert!(told.contains("`tidings outbox list`"), "{told}");
        assert_eq!(code, 1);
    }
    let (told, code) = said(&pair, &["outbox", "list", "--state", "held"]).await;
    assert_eq!((told.trim(), code), ("nothing here with state held", 0));
    drop(gateway);
}
