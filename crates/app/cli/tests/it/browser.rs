//! A real Chromium, driven over WebDriver.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use fantoccini::wd::TimeoutConfiguration;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::world::{PATIENCE, artefacts};

/// A browser with a profile of its own; it ends when it is dropped.
pub(crate) struct Browser {
    pub(crate) page: Client,
    _driver: Child,
    folder: TempDir,
}

/// What the browser pretends to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    /// 1280 by 860.
    Desk,
    /// The same, for somebody who prefers dark pages.
    Night,
    /// 390 by 844.
    Phone,
}

impl Browser {
    pub(crate) async fn open(screen: Screen) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is missing; `cargo xtask test` installs it");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, port)) = line.split_once("started successfully on port ") {
                    return port.trim_end_matches('.').to_owned();
                }
            }
            panic!("chromedriver ended without a port");
        };
        let port = tokio::time::timeout(PATIENCE, port).await.unwrap();
        let folder = tempfile::Builder::new()
            .prefix("tidings-browser-")
            .tempdir()
            .unwrap();
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            &format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ),
            "--window-size=1280,860",
            if screen == Screen::Night {
                "--force-dark-mode"
            } else {
                "--no-pings"
            },
        ];
        let downloads = folder.path().join("downloads");
        std::fs::create_dir(&downloads).unwrap();
        let mut capabilities = Map::new();
        let mut options = json!({
            "args": arguments,
            "prefs": { "download.default_directory": downloads.display().to_string() },
        });
        if screen == Screen::Phone {
            let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 2.0, "touch": true });
            options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
        }
        capabilities.insert("goog:chromeOptions".to_owned(), options);
        capabilities.insert("browserName".to_owned(), json!("chrome"));
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        page.update_timeouts(TimeoutConfiguration::new(None, Some(PATIENCE), None))
            .await
            .unwrap();
        Self {
            page,
            _driver: driver,
            folder,
        }
    }

    pub(crate) fn downloads(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a script's expression.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        self.page
            .execute(&format!("return ({expression});"), Vec::new())
            .await
            .unwrap()
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, what: &str, expression: &str) {
        let holds = async {
            while self.value(&format!("Boolean({expression})")).await != Value::Bool(true) {
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(PATIENCE, holds).await.is_err() {
            self.picture("failed").await;
            panic!(
                "{what} never was; the page: {}",
                self.page.source().await.unwrap()
            );
        }
    }

    /// Keeps a screenshot outside the repository.
    pub(crate) async fn picture(&self, name: &str) {
        let bytes = self.page.screenshot().await.unwrap();
        std::fs::write(artefacts().join(format!("{name}.png")), bytes).unwrap();
    }

    /// A folder's only file, once it is whole.
    pub(crate) async fn downloaded(&self) -> (String, Vec<u8>) {
        let folder = self.folder.path().join("downloads");
        let arrived = async {
            loop {
                for entry in std::fs::read_dir(&folder).unwrap() {
                    let path = entry.unwrap().path();
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    if !name.ends_with(".crdownload") && !name.starts_with('.') {
                        let bytes = std::fs::read(&path).unwrap();
                        if !bytes.is_empty() {
                            return (name, bytes);
                        }
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, arrived)
            .await
            .expect("no download arrived")
    }
}
