//! `tidings chat`: a conversation in the terminal. It is the web chat's own conversation, spoken over its own interface: with the
//! gateway that runs, else with one that runs as long as the conversation does.

mod door;
mod follow;
mod keep;
mod lines;
mod markdown;
mod screen;
mod stream;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use settings::{Environment, Home};
use waybill::ProfileId;

use crate::exit::Failure;
use crate::outbox::Paint;
use door::Door;
use follow::{Ending, LEFT, follow};
use lines::Typed;
use screen::Screen;

/// Most bytes of a message: as the web chat takes them.
const LONGEST: u64 = 1 << 20;

/// What is wanted.
#[derive(Debug, clap::Args)]
pub(crate) struct Wish {
    /// Who answers; without it the profile `default`, or the only one
    #[arg(long, short, value_name = "PROFILE", value_parser = str::parse::<ProfileId>)]
    profile: Option<ProfileId>,
    /// Say this, print the answer and end; without it, piped input is the message
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Send a file along; may be given several times
    #[arg(long = "file", short, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Go on with the latest conversation instead of beginning one
    #[arg(long = "continue", short = 'c')]
    go_on: bool,
    /// Save files that come back here
    #[arg(long, value_name = "DIR", default_value = ".")]
    save_to: PathBuf,
}

/// Talks.
pub(crate) fn run(
    home: &Home,
    wish: &Wish,
    as_json: bool,
    paint: Paint,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    home.make()?;
    let once = match &wish.message {
        Some(text) => Some(text.clone()),
        None if std::io::stdin().is_terminal() => None,
        None => Some(piped()?),
    };
    if once.as_ref().is_some_and(|text| text.trim().is_empty()) && wish.files.is_empty() {
        return Err(Failure::Failed(
            "there is nothing to say: give `-m TEXT`, or pipe the message in".to_owned(),
        ));
    }
    if once.is_none() && as_json {
        return Err(Failure::Failed(
            "--json is for one message: give it with `-m TEXT`".to_owned(),
        ));
    }
    let runtime = crate::sandboxes::runtime()?;
    let done = runtime.block_on(async {
        let door = Door::open(home, environment).await?;
        let talked = match once {
            Some(text) => once_only(&door, wish, text, as_json, paint).await,
            None => at_length(&door, wish, paint).await,
        };
        door.close().await;
        talked
    });
    // A read from the terminal holds nobody up.
    runtime.shutdown_background();
    done
}

fn piped() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .take(LONGEST + 1)
        .read_to_string(&mut text)
        .context("standard input is no text")?;
    if text.len() as u64 > LONGEST {
        return Err(Failure::Failed(format!(
            "the message is longer than {} KB: send it as a file with `-f`",
            LONGEST >> 10
        )));
    }
    Ok(text)
}

/// One message, its answer, and the exit code of how it ended.
async fn once_only(
    door: &Door,
    wish: &Wish,
    text: String,
    as_json: bool,
    paint: Paint,
) -> Result<ExitCode, Failure> {
    let conversation = conversation(door, wish).await?;
    let mut screen = if as_json {
        Screen::silent(&wish.save_to)
    } else {
        Screen::once(paint, &wish.save_to)
    };
    let message = say(door, &conversation, &text, &wish.files).await?;
    let mut nobody = Typed::nobody();
    let ending = follow(door, &conversation, &message, &mut screen, &mut nobody).await?;
    screen.end()?;
    if as_json {
        println!(
            "{}",
            json!({
                "conversation": conversation.id,
                "profile": conversation.profile,
                "text": screen.text(),
                "files": screen.files(),
                "end": ending.end,
                "reason": ending.reason,
            })
        );
    }
    Ok(code(&ending))
}

fn code(ending: &Ending) -> ExitCode {
    if ending.end == "answered" {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A conversation with a person.
async fn at_length(door: &Door, wish: &Wish, paint: Paint) -> Result<ExitCode, Failure> {
    let conversation = conversation(door, wish).await?;
    let mut screen = Screen::person(paint, &wish.save_to);
    screen.greet(&conversation.profile, door.is_own())?;
    let mut typed = Typed::begin()?;
    let mut files = wish.files.clone();
    loop {
        screen.prompt()?;
        let line = tokio::select! {
            line = typed.next() => line,
            // At the prompt there is nothing to stop.
            _ = tokio::signal::ctrl_c() => None,
        };
        let Some(text) = line else {
            screen.end()?;
            return Ok(ExitCode::SUCCESS);
        };
        match text.trim() {
            "" if files.is_empty() => continue,
            "/quit" | "/exit" => return Ok(ExitCode::SUCCESS),
            _ => {}
        }
        let message = match say(door, &conversation, &text, &std::mem::take(&mut files)).await {
            Ok(message) => message,
            Err(Failure::Failed(reason) | Failure::Configuration(reason)) => {
                screen.trouble(&reason)?;
                continue;
            }
        };
        let ending = follow(door, &conversation, &message, &mut screen, &mut typed).await?;
        screen.end()?;
        if ending.end == LEFT {
            return Ok(ExitCode::from(130));
        }
    }
}

/// A conversation of the web chat.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) profile: String,
    /// The newest entry when it was opened.
    pub(crate) newest: i64,
}

async fn conversation(door: &Door, wish: &Wish) -> Result<Conversation, Failure> {
    let profile = match &wish.profile {
        Some(profile) => profile.to_string(),
        None => usual(door).await?,
    };
    if wish.go_on {
        let all = door.get("/api/conversations").await?;
        let latest = all["conversations"].as_array().and_then(|all| {
            // The gateway's own notices are no conversation that a person began.
            all.iter().find(|one| {
                let id = one["id"].as_str().unwrap_or_default();
                one["profile"] == profile.as_str() && !id.starts_with("notices-")
            })
        });
        if let Some(id) = latest.and_then(|latest| latest["id"].as_str()) {
            let path = format!("/api/conversations/{id}/messages?form=markdown");
            let entries = door.get(&path).await?;
            let newest = entries["entries"].as_array().and_then(|all| all.last());
            return Ok(Conversation {
                id: id.to_owned(),
                profile,
                newest: newest.and_then(|last| last["id"].as_i64()).unwrap_or(0),
            });
        }
    }
    let made = door
        .post("/api/conversations", &json!({ "profile": profile }))
        .await?;
    let id = made["id"].as_str().unwrap_or_default().to_owned();
    Ok(Conversation {
        id,
        profile,
        newest: 0,
    })
}

/// `default` if there is one, else the only one.
async fn usual(door: &Door) -> Result<String, Failure> {
    let status = door.get("/api/status").await?;
    let profiles: Vec<&str> = status["profiles"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|profile| profile["id"].as_str())
        .collect();
    match profiles.as_slice() {
        [only] => Ok((*only).to_owned()),
        several if several.contains(&"default") => Ok("default".to_owned()),
        [] => Err(Failure::Failed(
            "no profile works; `tidings config check` says why".to_owned(),
        )),
        several => Err(Failure::Failed(format!(
            "say who shall answer with `-p`: {}",
            several.join(", ")
        ))),
    }
}

/// Says something; returns the message's id.
async fn say(
    door: &Door,
    conversation: &Conversation,
    text: &str,
    files: &[PathBuf],
) -> Result<String, Failure> {
    let mut sent: Vec<Value> = Vec::new();
    for file in files {
        sent.push(door.upload(&conversation.id, file).await?);
    }
    let id = door.fresh_id();
    let path = format!("/api/conversations/{}/messages", conversation.id);
    let body = json!({ "id": id, "text": text, "files": sent });
    door.post(&path, &body).await?;
    Ok(id)
}
