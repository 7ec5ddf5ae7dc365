//! A home, a running gateway, and the services that it talks to.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testkit::http::Ask;
use testkit::model_server::{Match, ModelServer, Turn};
use testkit::telegram::{Said, Telegram, Visible};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Longest wait for anything; far more than it takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The bot of profile `p`.
pub(crate) const A: &str = "111111:AAAA-bot-of-profile-p";
/// The bot of profile `q`.
pub(crate) const B: &str = "222222:BBBB-bot-of-profile-q";
/// The person who may talk to both.
pub(crate) const OWNER: i64 = 77;

/// The binary under test.
pub(crate) fn tidings() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.kill_on_drop(true).stdin(Stdio::null());
    for name in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "DOCKER_HOST",
        "TIDINGS_LOG",
    ] {
        command.env_remove(name);
    }
    command
}

/// A home folder.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(
            tempfile::Builder::new()
                .prefix("tidings-home-")
                .tempdir()
                .unwrap(),
        )
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("home")
    }

    pub(crate) fn write_config(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(self.path()).unwrap();
        std::fs::set_permissions(self.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::write(self.path().join("tidings.toml"), text).unwrap();
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> std::process::Output {
        tidings()
            .args(arguments)
            .arg("--home")
            .arg(self.path())
            .output()
            .await
            .unwrap()
    }

    /// Objects that a command prints with `--json`.
    pub(crate) async fn objects(&self, arguments: &[&str]) -> Vec<Value> {
        let mut all = arguments.to_vec();
        all.push("--json");
        let output = self.run(&all).await;
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A running gateway.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) summary: Value,
    log: PathBuf,
}

impl Gateway {
    /// Starts it and waits until it serves.
    pub(crate) async fn start(home: &Home, environment: &[(&str, &str)]) -> Self {
        Self::start_on(home, Some("127.0.0.1:0"), environment).await
    }

    pub(crate) async fn start_on(
        home: &Home,
        listen: Option<&str>,
        environment: &[(&str, &str)],
    ) -> Self {
        let log = home.0.path().join("gateway.log");
        let stderr = std::fs::File::options()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        let mut command = tidings();
        command
            .arg("up")
            .arg("--json")
            .arg("--home")
            .arg(home.path());
        if let Some(listen) = listen {
            command.args(["--listen", listen]);
        }
        command
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let Ok(Ok(Some(line))) = line else {
            panic!(
                "the gateway did not start: {}",
                std::fs::read_to_string(&log).unwrap()
            );
        };
        Self {
            child,
            summary: serde_json::from_str(&line).unwrap(),
            log,
        }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.summary["address"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn login(&self) -> &str {
        self.summary["login"].as_str().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// `kill -9`.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn died(mut self) {
        tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("the gateway lives")
            .unwrap();
    }

    /// SIGTERM, and the end that it comes to by itself.
    pub(crate) async fn terminate(mut self) -> std::process::ExitStatus {
        let told = Command::new("kill")
            .arg(self.pid().to_string())
            .status()
            .await
            .unwrap();
        assert!(told.success());
        tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .unwrap()
            .unwrap()
    }

    /// A browser session: the cookie that the login link gives.
    pub(crate) async fn log_in(&self) -> String {
        let (_, path) = self
            .login()
            .split_once(&self.address().to_string())
            .unwrap();
        let answer = Ask::get(path).send(self.address()).await.unwrap();
        let cookie = answer
            .header("set-cookie")
            .unwrap_or_else(|| panic!("no cookie: {}", answer.text()));
        cookie.split(';').next().unwrap().to_owned()
    }
}

/// Two profiles with two bots, each with a model of its own name, on one gateway.
pub(crate) struct Pair {
    pub(crate) telegram: Telegram,
    pub(crate) model: ModelServer,
    pub(crate) home: Home,
    sandbox: String,
}

impl Pair {
    /// With real containers.
    pub(crate) async fn in_docker() -> Self {
        let image = tokio::task::spawn_blocking(testkit::image::ensure_test_image)
            .await
            .unwrap()
            .unwrap();
        Self::new(&format!("{{ driver = \"docker\", image = \"{image}\" }}")).await
    }

    /// With the driver that needs no daemon.
    pub(crate) async fn in_processes() -> Self {
        Self::new("{ driver = \"process\" }").await
    }

    async fn new(sandbox: &str) -> Self {
        let telegram = Telegram::start().await.unwrap();
        telegram.add_bot(A, "bot_a");
        telegram.add_bot(B, "bot_b");
        let model = ModelServer::start().await.unwrap();
        let pair = Self {
            telegram,
            model,
            home: Home::new(),
            sandbox: sandbox.to_owned(),
        };
        pair.home.write_config(&pair.config());
        pair
    }

    fn config(&self) -> String {
        let mut text = format!(
            "[defaults]\nsandbox = {}\n[providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
            self.sandbox,
            self.model.base_url()
        );
        for (profile, account, variable) in [("p", "a", "TOKEN_A"), ("q", "b", "TOKEN_B")] {
            write!(
                text,
                "[profiles.{profile}]\nmodel = \"fake/{profile}\"\n\
                 [channels.{account}]\nkind = \"telegram\"\nprofile = \"{profile}\"\ntoken = \"env:{variable}\"\n\
                 api_base = \"{}\"\nowner = [{OWNER}]\n",
                self.telegram.api_base()
            )
            .unwrap();
        }
        text
    }

    pub(crate) async fn up(&self) -> Gateway {
        Gateway::start(&self.home, &[("TOKEN_A", A), ("TOKEN_B", B)]).await
    }

    /// A gateway that dies at a failpoint (`docs/crash-matrix.md`).
    pub(crate) async fn up_to(&self, failpoint: &str) -> Gateway {
        let environment = [
            ("TOKEN_A", A),
            ("TOKEN_B", B),
            ("TIDINGS_FAILPOINT", failpoint),
        ];
        Gateway::start(&self.home, &environment).await
    }

    /// A gateway that dies at a failpoint as it starts, with or without having said that it serves.
    pub(crate) async fn start_and_die(&self, failpoint: &str) {
        let mut command = tidings();
        command
            .args(["up", "--json", "--listen", "127.0.0.1:0", "--home"])
            .arg(self.home.path())
            .envs([
                ("TOKEN_A", A),
                ("TOKEN_B", B),
                ("TIDINGS_FAILPOINT", failpoint),
            ]);
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .expect("the gateway lives")
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(log.contains("failpoint reached"), "{log}");
    }

    /// Another line for the account of bot A.
    pub(crate) fn set(&self, line: &str) {
        let path = self.home.path().join("tidings.toml");
        let config = std::fs::read_to_string(path).unwrap();
        let config = config.replace("[channels.a]\n", &format!("[channels.a]\n{line}\n"));
        self.home.write_config(&config);
    }

    /// Where commands of a profile run.
    pub(crate) fn workspace(&self, profile: &str) -> PathBuf {
        self.home.path().join(format!(
            "profiles/{profile}/sandboxes/profile.{profile}/workspace"
        ))
    }

    /// Waits until a command has made a file.
    pub(crate) async fn made(&self, profile: &str, file: &str) {
        let path = self.workspace(profile).join(file);
        let made = async {
            while !path.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, made)
            .await
            .expect("the command did not begin");
    }

    /// What the person's messages to a model were, in order, of the last request.
    pub(crate) fn told_model(&self) -> Vec<String> {
        let last = self.model.requests().last().unwrap().clone();
        let people = last.messages().into_iter();
        people
            .filter(|message| message["role"] == "user")
            .map(|message| match message["content"].as_str() {
                Some(text) => text.to_owned(),
                None => message["content"].to_string(),
            })
            .collect()
    }

    /// Waits for a notice at home that says this; returns how many do.
    pub(crate) async fn noticed(&self, what: &str) -> usize {
        let noticed = async {
            loop {
                let mut count = 0;
                for row in self.home.objects(&["outbox", "list"]).await {
                    if row["kind"] != "notice" {
                        continue;
                    }
                    let id = row["id"].as_str().unwrap().to_owned();
                    let shown = self.home.objects(&["outbox", "show", &id]).await;
                    count += usize::from(format!("{shown:?}").contains(what));
                }
                if count > 0 {
                    return count;
                }
            }
        };
        tokio::time::timeout(PATIENCE, noticed)
            .await
            .expect("the owner was not told")
    }

    /// What the model of a profile does next.
    pub(crate) fn script(&self, profile: &str, turn: Turn) {
        self.model.push_for(Match::Model(profile.to_owned()), turn);
    }

    /// The model of a profile runs a command, then says that it is done; waits until the bot has said so.
    pub(crate) async fn command(&self, profile: &str, bot: &str, command: &str) {
        let before = self.telegram.chat(bot, OWNER).len();
        self.script(
            profile,
            Turn::tool("terminal", serde_json::json!({ "command": command })),
        );
        self.script(profile, Turn::text("prepared"));
        self.telegram
            .say(bot, Said::text("prepare").by(OWNER, "Owner"));
        self.seen(bot, before + 1).await;
    }

    /// The owner asks.
    pub(crate) fn ask(&self, bot: &str, text: &str) {
        self.telegram.say(bot, Said::text(text).by(OWNER, "Owner"));
    }

    /// Waits until a bot's chat shows so many messages, and returns them.
    pub(crate) async fn seen(&self, bot: &str, count: usize) -> Vec<Visible> {
        let waited = self
            .telegram
            .until(&format!("{count} messages"), |telegram| {
                telegram.chat(bot, OWNER).len() >= count
            })
            .await;
        let seen = self.telegram.chat(bot, OWNER);
        if let Err(error) = waited {
            let log = std::fs::read_to_string(self.home.0.path().join("gateway.log")).unwrap();
            panic!("{error}\nseen: {seen:#?}\n{log}");
        }
        seen
    }

    /// Waits until no parcel is open, so that nothing more will come.
    pub(crate) async fn settled(&self) {
        let settled = async {
            loop {
                let rows = self.home.objects(&["outbox", "list"]).await;
                let open = |part: &Value| {
                    ["queued", "sending", "retry", "unknown"]
                        .contains(&part["state"].as_str().unwrap())
                };
                if !rows
                    .iter()
                    .any(|row| row["parts"].as_array().unwrap().iter().any(open))
                {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, settled)
            .await
            .expect("parcels stay open");
    }

    /// Nothing that a careful client would not have sent, and no request that no script foresaw.
    pub(crate) fn clean(&self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
        assert_eq!(self.model.violations(), Vec::<String>::new());
    }

    /// The profile's container, by its labels.
    pub(crate) async fn container(&self, profile: &str) -> Option<String> {
        let install = std::fs::read_to_string(self.home.path().join("state/install")).unwrap();
        let output = Command::new("docker")
            .args(["ps", "-aq", "--no-trunc"])
            .args([
                "--filter",
                &format!("label=tidings.install={}", install.trim()),
            ])
            .args(["--filter", &format!("label=tidings.profile={profile}")])
            .output()
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().next().map(str::to_owned)
    }
}

impl Drop for Pair {
    /// Containers outlive the gateway on purpose; a test takes its own along.
    fn drop(&mut self) {
        let Ok(install) = std::fs::read_to_string(self.home.path().join("state/install")) else {
            return;
        };
        let filter = format!("label=tidings.install={}", install.trim());
        let Ok(found) = std::process::Command::new("docker")
            .args(["ps", "-aq", "--filter", &filter])
            .output()
        else {
            return;
        };
        for id in String::from_utf8_lossy(&found.stdout).lines() {
            let removed = std::process::Command::new("docker")
                .args(["rm", "-f", id])
                .output();
            assert!(removed.is_ok(), "a test's container stays: {id}");
        }
    }
}

/// The only file of a chat's messages.
pub(crate) fn files(seen: &[Visible]) -> Vec<(&str, &[u8])> {
    seen.iter()
        .filter_map(|message| message.file.as_ref())
        .map(|file| (file.name.as_str(), file.bytes.as_ref()))
        .collect()
}

/// The words of a chat's messages, without those of files.
pub(crate) fn words(seen: &[Visible]) -> Vec<&str> {
    seen.iter()
        .filter(|message| message.file.is_none())
        .map(|message| message.text.as_str())
        .collect()
}

/// Where screenshots and logs of a test go: outside the repository, kept by CI.
pub(crate) fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("artefacts");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
