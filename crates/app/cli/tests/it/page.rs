//! The web chat in a real Chromium: log in, write, see the stream, see the picture, download a file.

use fantoccini::Locator;
use serde_json::json;
use testkit::model_server::{Gate, ModelServer, Turn};

use crate::browser::{Browser, Screen};
use crate::world::{Gateway, Home, PATIENCE};

/// A gateway whose one profile asks a scripted model and works in processes.
async fn scripted() -> (ModelServer, Home, Gateway) {
    let model = ModelServer::start().await.unwrap();
    let home = Home::new();
    home.write_config(&format!(
        "[defaults]\nmodel = \"fake/page\"\nsandbox = {{ driver = \"process\" }}\n\
         [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let gateway = Gateway::start(&home, &[]).await;
    (model, home, gateway)
}

async fn write(browser: &Browser, text: &str) {
    let field = browser
        .page
        .wait()
        .for_element(Locator::Css("#text"))
        .await
        .unwrap();
    field.send_keys(text).await.unwrap();
    browser
        .until(
            "the send button",
            "!document.querySelector('#send').disabled",
        )
        .await;
    browser
        .page
        .find(Locator::Css("#send"))
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_person_logs_in_draws_a_chart_and_sees_the_picture() {
    let home = Home::new();
    home.write_config("[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"process\" }\n");
    let gateway = Gateway::start(&home, &[]).await;
    let browser = Browser::open(Screen::Desk).await;
    browser
        .page
        .goto(&format!("http://{}/", gateway.address()))
        .await
        .unwrap();
    browser.picture("page-before-login").await;
    assert!(
        browser
            .page
            .source()
            .await
            .unwrap()
            .contains("tidings login")
    );
    browser.page.goto(gateway.login()).await.unwrap();
    browser
        .until(
            "the welcome",
            "document.querySelector('#welcome') && !document.querySelector('#welcome').hidden",
        )
        .await;
    browser.picture("page-welcome").await;
    write(&browser, "Draw me a chart of 3, 5, 8, 4").await;
    let seen = "[...document.querySelectorAll('.message.agent img')].some(image => image.complete && image.naturalWidth > 100)";
    browser.until("the picture", seen).await;
    browser.picture("page-chart").await;
    let cookie = browser.value("document.cookie").await;
    assert_eq!(cookie, "", "a script can read the session");
    let foreign = browser
        .value("performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith(location.origin) && !name.startsWith('blob:'))")
        .await;
    assert_eq!(
        foreign,
        json!([]),
        "the page loads something from elsewhere"
    );
}

#[tokio::test]
async fn the_answer_grows_while_it_is_made_and_no_directive_is_ever_seen() {
    let (model, _home, gateway) = scripted().await;
    let gate = Gate::new();
    model.push(Turn::tool(
        "terminal",
        json!({ "command": "printf 'a,b\\n1,2\\n' > table.csv && ls" }),
    ));
    model.push(
        Turn::text("Working on the **table**. ")
            .then_text("MED")
            .then_text("IA:/workspace/tab")
            .pause_until(&gate)
            .then_text("le.csv\nHere you are."),
    );
    let browser = Browser::open(Screen::Phone).await;
    browser.page.goto(gateway.login()).await.unwrap();
    write(&browser, "make a table").await;
    assert!(gate.reached(PATIENCE).await);
    let watched = "document.querySelector('.preview')?.innerText.includes('Working on the table')";
    browser.until("the growing answer", watched).await;
    browser.picture("page-streaming-phone").await;
    assert!(
        !browser
            .value("document.body.innerText")
            .await
            .to_string()
            .contains("MED")
    );
    gate.release();
    browser
        .until(
            "the file",
            "document.querySelector('.message.agent a.card[download]')",
        )
        .await;
    browser
        .until(
            "the end of the preview",
            "!document.querySelector('.preview')",
        )
        .await;
    browser.picture("page-answered-phone").await;
    let text = browser.value("document.body.innerText").await.to_string();
    assert!(
        text.contains("Here you are.") && !text.contains("MEDIA"),
        "{text}"
    );
    assert_eq!(
        browser
            .value("document.querySelectorAll('.message.agent .words').length")
            .await,
        json!(1)
    );
    assert!(
        browser
            .value("document.querySelector('.run summary').innerText")
            .await
            .to_string()
            .contains('1')
    );
    let width = browser
        .value("document.documentElement.scrollWidth <= window.innerWidth")
        .await;
    assert_eq!(width, json!(true), "the page is wider than the phone");
    browser
        .page
        .find(Locator::Css(".message.agent a.card"))
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
    let (name, bytes) = browser.downloaded().await;
    assert_eq!(
        (name.as_str(), bytes.as_slice()),
        ("table.csv", b"a,b\n1,2\n".as_slice())
    );
}

#[tokio::test]
async fn an_uploaded_page_never_runs_in_the_chats_origin() {
    let (model, _home, gateway) = scripted().await;
    let browser = Browser::open(Screen::Desk).await;
    browser.page.goto(gateway.login()).await.unwrap();
    let evil = browser.downloads().join("evil.html");
    std::fs::write(&evil, "<script>document.title='owned'</script>").unwrap();
    browser
        .page
        .wait()
        .for_element(Locator::Css("#text"))
        .await
        .unwrap();
    let input = browser.page.find(Locator::Css("#file")).await.unwrap();
    input.send_keys(&evil.display().to_string()).await.unwrap();
    browser
        .until("the chip", "document.querySelector('#chips li')")
        .await;
    model.push(Turn::tool(
        "read_file",
        json!({ "path": "/inbox/evil.html" }),
    ));
    model.push(Turn::text("I read it."));
    write(&browser, "read this").await;
    browser
        .until(
            "the answer",
            "document.body.innerText.includes('I read it.')",
        )
        .await;
    let result = model.requests().last().unwrap().last_text("tool");
    assert!(result.contains("owned"), "{result}");
    let address = browser
        .value("document.querySelector('.message.person a.card').href")
        .await;
    browser
        .page
        .goto(address.as_str().unwrap())
        .await
        .unwrap_or_default();
    let title = browser.value("document.title").await;
    assert_ne!(title, json!("owned"));
    let (name, _) = browser.downloaded().await;
    assert_eq!(name, "evil.html");
}
