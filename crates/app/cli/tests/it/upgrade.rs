//! An upgrade in the middle of work: today's gateway starts on what an earlier release left when it was killed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::model_server::{Match, ModelServer, Turn};
use testkit::telegram::Telegram;

use crate::world::{A, B, Gateway, Home, OWNER, PATIENCE, words};

/// The second bot of profile `p`.
const C: &str = "333333:CCCC-bot-of-profile-p";
/// Another person who may talk to the bots.
const FRIEND: i64 = 78;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../edges/store-sqlite/tests/fixtures/0001-first-light")
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

/// A home with the configuration that the release had, and its database.
fn home(telegram: &Telegram, model: &ModelServer) -> Home {
    let home = Home::new();
    let mut text = format!(
        "[defaults]\nsandbox = {{ driver = \"process\" }}\n[providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         [profiles.p]\nmodel = \"fake/p\"\n[profiles.q]\nmodel = \"fake/q\"\n",
        model.base_url()
    );
    for (profile, account, variable) in [
        ("p", "a", "TOKEN_A"),
        ("q", "b", "TOKEN_B"),
        ("p", "c", "TOKEN_C"),
    ] {
        write!(
            text,
            "[channels.{account}]\nkind = \"telegram\"\nprofile = \"{profile}\"\ntoken = \"env:{variable}\"\n\
             api_base = \"{}\"\nowner = [{OWNER}, {FRIEND}]\n",
            telegram.api_base()
        )
        .unwrap();
    }
    home.write_config(&text);
    let state = home.path().join("state");
    for kept in ["tidings.db", "blobs"] {
        let from = fixture().join(kept);
        if from.is_dir() {
            copy(&from, &state.join(kept));
        } else {
            std::fs::create_dir_all(&state).unwrap();
            std::fs::copy(from, state.join(kept)).unwrap();
        }
    }
    home
}

fn open(rows: &[Value]) -> Vec<(String, String)> {
    let mut open = Vec::new();
    for row in rows {
        for part in row["parts"].as_array().unwrap() {
            let state = part["state"].as_str().unwrap();
            if ["queued", "sending", "retry", "unknown"].contains(&state) {
                open.push((
                    row["account"].as_str().unwrap().to_owned(),
                    state.to_owned(),
                ));
            }
        }
    }
    open.sort();
    open
}

#[tokio::test]
async fn todays_gateway_delivers_what_first_light_left_open_once_or_marked() {
    let telegram = Telegram::start().await.unwrap();
    for (token, name) in [(A, "bot_a"), (B, "bot_b"), (C, "bot_c")] {
        telegram.add_bot(token, name);
        telegram.open_chat(token, OWNER);
        telegram.open_chat(token, FRIEND);
    }
    let model = ModelServer::start().await.unwrap();
    let home = home(&telegram, &model);
    for answer in ["Once upon a time.", "And another one."] {
        model.push_for(Match::Model("p".to_owned()), Turn::text(answer));
    }
    let gateway = Gateway::start(&home, &[("TOKEN_A", A), ("TOKEN_B", B), ("TOKEN_C", C)]).await;
    telegram
        .until("the answers and what was on the wire", |telegram| {
            telegram.chat(A, OWNER).len() >= 2
                && !telegram.chat(C, OWNER).is_empty()
                && !telegram.chat(C, FRIEND).is_empty()
        })
        .await
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.log()));
    let waits = [
        ("b".to_owned(), "queued".to_owned()),
        ("b".to_owned(), "retry".to_owned()),
    ];
    let settled = async {
        loop {
            let rows = home.objects(&["outbox", "list"]).await;
            if open(&rows) == waits {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, settled)
        .await
        .unwrap_or_else(|_late| panic!("parcels stay open: {}", gateway.log()));
    assert_eq!(
        words(&telegram.chat(A, OWNER)),
        ["Once upon a time.", "And another one."],
        "the turn that was cut off, and the message behind it"
    );
    for (who, said) in [
        (OWNER, "This was on the wire."),
        (FRIEND, "Did this arrive?"),
    ] {
        let seen = telegram.chat(C, who);
        let [one] = seen.as_slice() else {
            panic!("not once: {seen:?}")
        };
        assert!(
            one.text.contains(said) && one.text.contains("may be a repeat"),
            "{}",
            one.text
        );
    }
    assert!(
        telegram.chat(B, OWNER).is_empty(),
        "the wait that the platform asked for was not kept"
    );
    assert_eq!(telegram.violations(), Vec::<String>::new());
    assert_eq!(model.violations(), Vec::<String>::new());
    let ended = gateway.terminate().await;
    assert!(ended.success(), "{ended}");
}
