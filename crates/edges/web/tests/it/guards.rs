//! Addresses that a model may choose, and those that it may not.

use tool::{ToolError, Web as _};

use crate::site::Site;

#[tokio::test]
async fn an_address_of_this_machine_or_a_private_network_is_refused_and_nobody_is_asked() {
    let site = Site::start().await;
    let web = site.web();
    let port = site.at.port();
    for address in [
        "http://169.254.169.254/".to_owned(),
        "http://[::ffff:127.0.0.2]/".to_owned(),
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::1]:{port}/"),
        "http://2130706434/".to_owned(),
        "http://100.64.0.1/".to_owned(),
        format!("localhost.:{port}"),
        format!("localhost:{port}"),
        format!("http://inside.example:{port}/"),
        "http://site.example:6379/".to_owned(),
        format!("http://key@site.example:{port}/"),
        "file:///etc/passwd".to_owned(),
        "gopher://site.example/".to_owned(),
    ] {
        for told in [
            web.fetch(&address).await.map(drop),
            web.download(&address, 1000).await.map(drop),
        ] {
            assert!(
                matches!(told, Err(ToolError::Forbidden(_))),
                "{address}: {told:?}"
            );
        }
    }
    assert_eq!(site.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_page_that_leads_inside_is_refused() {
    let site = Site::start().await;
    for target in [
        "http://127.0.0.2/",
        "http://inside.example/",
        "//169.254.169.254/x",
    ] {
        site.says("/away", 302, &[("location", target)], b"");
        let told = site.web().fetch(&site.url("/away")).await;
        let Err(ToolError::Forbidden(why)) = told else {
            panic!("{target}: {told:?}");
        };
        assert!(
            why.starts_with("site.example was not read: it leads to"),
            "{why}"
        );
    }
}

#[tokio::test]
async fn of_a_name_with_a_private_and_a_public_address_the_public_one_is_asked() {
    let site = Site::start().await;
    site.says("/", 200, &[("content-type", "text/plain")], b"hello");
    let page = site
        .web()
        .fetch(&format!("http://mixed.example:{}/", site.at.port()))
        .await
        .unwrap();
    assert_eq!(page.text, "hello");
}
