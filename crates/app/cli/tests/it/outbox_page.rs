//! The page Outbox in a real Chromium, over real parcels: one that waits, one that died.

use fantoccini::Locator;
use serde_json::json;
use testkit::http::Ask;
use testkit::model_server::Turn;
use testkit::telegram::{Rule, Trouble};

use crate::browser::{Browser, Screen};
use crate::world::{A, Gateway, PATIENCE, Pair, words};

/// A browser that is logged in and shows the list.
async fn looking(gateway: &Gateway, login: &str, screen: Screen) -> Browser {
    let browser = Browser::open(screen).await;
    browser.page.goto(login).await.unwrap();
    let list = format!("http://{}/outbox", gateway.address());
    browser.page.goto(&list).await.unwrap();
    browser
        .until("the list", "document.querySelector('#parcels')")
        .await;
    browser
}

/// The text of the page has this, sooner or later, and without anybody's help.
async fn reads(browser: &Browser, text: &str) {
    let there = format!("document.body.innerText.includes({})", json!(text));
    browser.until(text, &there).await;
}

/// Opens the parcel in this state that says this; notices about it may say it, too.
async fn open(browser: &Browser, state: &str, text: &str) {
    let row = format!(
        "[...document.querySelectorAll('a.row')].find(row => row.querySelector('.badge').title === '{state}' && row.innerText.includes({}))",
        json!(text)
    );
    browser.until("the parcel's row", &row).await;
    browser.value(&format!("{row}.click()")).await;
    browser
        .until("the parcel", "document.querySelector('#parcel[data-id]')")
        .await;
}

async fn press(browser: &Browser, button: &str) {
    let found = browser
        .page
        .wait()
        .at_most(PATIENCE)
        .for_element(Locator::Css(button))
        .await
        .unwrap();
    found.click().await.unwrap();
}

async fn fits(browser: &Browser) {
    let width = browser
        .value("document.documentElement.scrollWidth <= window.innerWidth")
        .await;
    assert_eq!(width, json!(true), "the page is wider than the screen");
}

#[tokio::test]
async fn a_throttled_parcel_is_seen_with_its_wait_and_seen_to_arrive() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let browser = looking(&gateway, gateway.login(), Screen::Desk).await;
    reads(&browser, "Nothing was sent yet").await;
    browser.picture("outbox-empty").await;
    pair.telegram
        .script(Rule::on("sendMessage"), Trouble::Flood(8));
    pair.script("p", Turn::text("the report of Monday"));
    pair.ask(A, "the report, please");
    open(&browser, "retry", "the report of Monday").await;
    reads(&browser, "Waits until").await;
    browser.picture("outbox-waits").await;
    let told = browser
        .value("document.querySelector('.way').innerText")
        .await
        .to_string();
    for piece in ["Made", "Attempt 1", "asked to wait", "retry after 8"] {
        assert!(told.contains(piece), "{piece}: {told}");
    }
    let full = browser
        .value("document.querySelector('.way time').title.endsWith('Z)')")
        .await;
    assert_eq!(full, json!(true), "the whole time is not told on hover");
    // Nobody reloads: the page sees it arrive by itself.
    reads(&browser, "Attempt 2").await;
    browser
        .until(
            "the arrival",
            "document.querySelector('#parcel').dataset.state === 'sent'",
        )
        .await;
    browser.picture("outbox-arrived").await;
    let told = browser
        .value("document.querySelector('.way').innerText")
        .await
        .to_string();
    let id = pair.seen(A, 1).await[0].message_id;
    assert!(told.contains(&format!("there, message {id}")), "{told}");
    pair.clean();
}

#[tokio::test]
async fn a_dead_parcel_is_sent_again_by_the_button_and_arrives() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    pair.telegram.script(
        Rule::on("sendMessage"),
        Trouble::Forbidden("bot was blocked by the user".to_owned()),
    );
    pair.script("p", Turn::text("it was <b>important</b>"));
    pair.ask(A, "hi");
    let browser = looking(&gateway, gateway.login(), Screen::Night).await;
    browser
        .until(
            "the dead parcel",
            "document.querySelector('a.row .badge[title=\"failed\"]')",
        )
        .await;
    browser.picture("outbox-list-dark").await;
    open(&browser, "failed", "important").await;
    reads(&browser, "Open the chat again from the other side").await;
    browser.picture("outbox-dead-dark").await;
    let markup = browser
        .value("document.querySelectorAll('.part b:not(.file b)').length")
        .await;
    assert_eq!(markup, json!(0), "an agent's words became markup");
    press(&browser, "#do-1-retry").await;
    reads(&browser, "It is sent again.").await;
    browser
        .until(
            "the arrival",
            "document.querySelector('#parcel').dataset.state === 'sent'",
        )
        .await;
    browser.picture("outbox-sent-again-dark").await;
    reads(&browser, "You sent it again").await;
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["it was <b>important</b>"]);
    assert_eq!(
        browser
            .value("document.querySelectorAll('#parcel button[data-verb]').length")
            .await,
        json!(0),
        "what arrived can be acted upon"
    );
    pair.clean();
}

#[tokio::test]
async fn on_a_phone_a_parcel_counts_as_arrived_only_after_a_question() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    pair.telegram
        .script(Rule::on("sendMessage"), Trouble::Flood(3_600));
    pair.script("p", Turn::text("one hour to wait"));
    pair.ask(A, "hi");
    let browser = looking(&gateway, gateway.login(), Screen::Phone).await;
    reads(&browser, "one hour to wait").await;
    fits(&browser).await;
    browser.picture("outbox-list-phone").await;
    open(&browser, "retry", "one hour to wait").await;
    reads(&browser, "Waits until").await;
    fits(&browser).await;
    browser.picture("outbox-waits-phone").await;
    // The shelf is away while a parcel is open on a phone, and comes back by one's finger.
    let shelf = "getComputedStyle(document.querySelector('.shelf')).display";
    assert_eq!(browser.value(shelf).await, json!("none"));
    press(&browser, "#do-1-mark-sent").await;
    reads(&browser, "is not sent any more").await;
    browser.picture("outbox-question-phone").await;
    press(&browser, "#ask button[value='no']").await;
    let state = "document.querySelector('#parcel').dataset.state";
    assert_eq!(browser.value(state).await, json!("retry"));
    press(&browser, "#do-1-mark-sent").await;
    press(&browser, "#ask-yes").await;
    browser
        .until("the mark", &format!("{state} === 'sent'"))
        .await;
    reads(&browser, "It counts as arrived.").await;
    press(&browser, "#back").await;
    browser
        .until("the list", &format!("{shelf} !== 'none'"))
        .await;
    assert_eq!(browser.value("location.pathname").await, json!("/outbox"));
    pair.clean();
}

#[tokio::test]
async fn a_monitor_reads_the_wait_of_an_account() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    pair.telegram
        .script(Rule::on("sendMessage"), Trouble::Flood(3_600));
    pair.script("p", Turn::text("later"));
    pair.ask(A, "hi");
    let wanted = [
        (
            "tidings_outbox_attempts_total",
            "outcome=\"throttled\"",
            "1",
        ),
        ("tidings_outbox_open", "state=\"retry\"", "1"),
        ("tidings_account_up", "account=\"a\"", "1"),
    ];
    let has = |text: &str, (name, labels, value): (&str, &str, &str)| {
        text.lines().any(|line| {
            line.starts_with(&format!("{name}{{"))
                && line.contains("account=\"a\"")
                && line.contains(labels)
                && line.ends_with(&format!(" {value}"))
        })
    };
    let read = async {
        loop {
            let answer = Ask::get("/metrics").send(gateway.address()).await.unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text());
            let text = answer.text();
            if wanted.into_iter().all(|one| has(&text, one)) {
                return text;
            }
            tokio::task::yield_now().await;
        }
    };
    let text = tokio::time::timeout(PATIENCE, read)
        .await
        .expect("the wait was never told");
    assert!(!text.contains("later") && !text.contains("chat="), "{text}");
    pair.clean();
}
