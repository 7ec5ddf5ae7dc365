//! The way to a gateway: the one that runs, or one of our own.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use gateway::{Accounts, Gateway, HomeLock, LockError, Running, SystemClock, SystemIds};
use net::{Client, Request, Response};
use serde_json::Value;
use settings::{Environment, Home};
use store_sqlite::Store;
use waybill::{Ids as _, Secret};

use crate::exit::Failure;
use crate::{SANDBOX, logging};

/// Largest answer that is read whole: five hundred entries of a conversation.
const ANSWER: u64 = 64 << 20;
/// How long an ordinary answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A way in.
pub(crate) struct Door {
    client: Client,
    base: String,
    cookie: Secret,
    own: Option<Running>,
}

impl Door {
    /// Finds the gateway that runs in this home, or starts one without the accounts on chat services; and logs in.
    pub(crate) async fn open(home: &Home, environment: &dyn Environment) -> Result<Self, Failure> {
        let client = Client::new(net::Options::default()).context("no HTTP client")?;
        let (base, token, own) = match HomeLock::take(home) {
            Ok(lock) => {
                drop(lock);
                let (base, token, running) = start(home, environment).await?;
                (base, token, Some(running))
            }
            Err(LockError::Taken { .. }) => {
                let address = std::fs::read_to_string(home.run().join("address")).context(
                    "a gateway has this home and does not listen yet; try again in a moment",
                )?;
                (
                    format!("http://{}", address.trim()),
                    fresh(home).await?,
                    None,
                )
            }
            Err(error) => return Err(Failure::Failed(error.to_string())),
        };
        let cookie = enter(&client, &base, &token).await?;
        Ok(Self {
            client,
            base,
            cookie,
            own,
        })
    }

    /// Whether the gateway is our own.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Logs out, and ends our own gateway.
    pub(crate) async fn close(self) {
        let request = self.with(self.client.post(&format!("{}/logout", self.base)));
        if let Err(error) = request.send().await {
            tracing::debug!(%error, "the terminal could not be logged out");
        }
        if let Some(running) = self.own {
            running.stop().await;
        }
    }

    fn with(&self, request: Request) -> Request {
        request
            .secret_header("cookie", self.cookie.reveal())
            .header("origin", &self.base)
            .answer_timeout(PATIENCE)
    }

    /// A request for a stream or a file.
    pub(crate) async fn open_get(&self, path: &str) -> Result<Response, Failure> {
        let answer = self
            .with(self.client.get(&format!("{}{path}", self.base)))
            .send()
            .await
            .map_err(lost)?;
        refused(answer).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        read(self.open_get(path).await?).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.client.post(&format!("{}{path}", self.base)).json(body);
        let answer = self.with(request).send().await.map_err(lost)?;
        read(refused(answer).await?).await
    }

    /// Sends a file ahead; as a message names it.
    pub(crate) async fn upload(&self, conversation: &str, file: &Path) -> Result<Value, Failure> {
        let shown = file.display();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let bytes = tokio::fs::read(file)
            .await
            .with_context(|| format!("{shown} can't be read"))?;
        let name_in_query: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!(
            "{}/api/conversations/{conversation}/files?name={name_in_query}",
            self.base
        );
        let request = self
            .client
            .post(&path)
            .bytes("application/octet-stream", bytes);
        let answer = self.with(request).send().await.map_err(lost)?;
        let kept = read(refused(answer).await?).await?;
        Ok(serde_json::json!({ "hash": kept["hash"], "name": name }))
    }

    pub(crate) fn fresh_id(&self) -> String {
        SystemIds.uuid().to_string()
    }
}

/// A gateway of our own: it listens on a free port of this machine, and no account on a chat service is heard.
async fn start(
    home: &Home,
    environment: &dyn Environment,
) -> Result<(String, Secret, Running), Failure> {
    let loaded = settings::load(home, environment);
    let settings = loaded
        .into_settings()
        .map_err(|problems| Failure::of_problems(&problems))?;
    // The conversation is what is seen here; troubles are still worth a line.
    logging::begin("error").map_err(Failure::Configuration)?;
    let options = gateway::Options {
        home: home.clone(),
        settings,
        listen: Some(([127, 0, 0, 1], 0).into()),
        launcher: vec!["/proc/self/exe".to_owned(), SANDBOX.to_owned()],
        minder: crate::servers::minder(),
        accounts: Accounts::Own,
    };
    let running = Box::pin(Gateway::start(options, environment)).await?;
    let base = format!("http://{}", running.summary().address);
    let link = &running.summary().login;
    let token = link.split_once("token=").map_or("", |(_, token)| token);
    let token = Secret::new(token.to_owned());
    Ok((base, token, running))
}

/// A login for the gateway that runs.
async fn fresh(home: &Home) -> Result<Secret, Failure> {
    let store = Store::open(&store_sqlite::Options {
        database: home.database(),
        blobs: home.blobs(),
    })
    .context("the store can't be opened")?;
    let token = admin::new_login(&store, &SystemClock)
        .await
        .context("no login could be made")?;
    store.close().await.context("the store can't be closed")?;
    Ok(token)
}

/// Uses a login up; the cookie is what the gateway gives for it.
async fn enter(client: &Client, base: &str, token: &Secret) -> Result<Secret, Failure> {
    let answer = client
        .get(&format!("{base}/login?token={}", token.reveal()))
        .answer_timeout(PATIENCE)
        .send()
        .await
        .map_err(lost)?;
    let cookie = answer
        .header("set-cookie")
        .and_then(|cookie| cookie.split(';').next())
        .unwrap_or_default();
    if cookie.is_empty() {
        return Err(Failure::Failed(
            "the gateway did not let us in; try again".to_owned(),
        ));
    }
    Ok(Secret::new(cookie.to_owned()))
}

fn lost(error: net::NetError) -> Failure {
    Failure::Failed(format!("the gateway does not answer: {error}"))
}

async fn read(answer: Response) -> Result<Value, Failure> {
    let bytes = answer.bytes_limited(ANSWER).await.map_err(lost)?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let value = serde_json::from_slice(&bytes).context("the gateway's answer can't be read")?;
    Ok(value)
}

/// An answer that is a refusal, as its words.
async fn refused(answer: Response) -> Result<Response, Failure> {
    if answer.is_success() {
        return Ok(answer);
    }
    let status = answer.status();
    let said = read(answer).await.unwrap_or(Value::Null);
    let words = said["error"]["text"].as_str();
    Err(Failure::Failed(match words {
        Some(words) => words.to_owned(),
        None => format!("the gateway refused with status {status}"),
    }))
}
