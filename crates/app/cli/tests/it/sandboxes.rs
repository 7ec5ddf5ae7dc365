//! Sandboxes on the real binary: scenarios S14 and T7, in containers and in processes.

use std::time::Duration;

use testkit::model_server::Turn;

use crate::world::{A, OWNER, PATIENCE, Pair, files};

/// What nobody may ever see in the chat.
const SECRET: &str = "the owner's key";

/// A pair whose first profile is shown a folder that is secret, and may send 100,000 bytes at most.
fn with_a_secret_mount(pair: &Pair) -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(pair.home.path().parent().unwrap()).unwrap();
    std::fs::write(folder.path().join("key.txt"), SECRET).unwrap();
    let config = std::fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let more = format!(
        "model = \"fake/p\"\nlimits.attachment_bytes = 100000\n\
         sandbox.mounts = [{{ host = \"{}\", at = \"/secrets\", mode = \"secret\" }}]\n",
        folder.path().display()
    );
    let config = config.replace("model = \"fake/p\"\n", &more);
    pair.home.write_config(&config);
    folder
}

/// All that S14 names, asked for at once; the file that is swapped goes on being swapped while it is copied.
async fn s14(pair: Pair) {
    let _secret = with_a_secret_mount(&pair);
    let _gateway = pair.up().await;
    pair.command(
        "p",
        A,
        "cd /workspace && ln -s /secrets/key.txt link.txt && printf one > one.txt && ln one.txt two.txt && mkfifo pipe \
         && : > empty.txt && head -c 200000 /dev/zero > big.bin && printf honest > swapped.txt && cat /secrets/key.txt >/dev/null",
    )
    .await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            serde_json::json!({
                "background": true,
                "command": "cd /workspace && while :; do printf honest > a && mv a swapped.txt; ln -s /secrets/key.txt b && mv b swapped.txt; done",
            }),
        ),
    );
    let asked = [
        "/workspace/link.txt",
        "/workspace/two.txt",
        "/workspace/pipe",
        "/dev/null",
        "/proc/self/environ",
        "/workspace/empty.txt",
        "/workspace/big.bin",
        "/workspace/swapped.txt",
    ];
    let lines: Vec<String> = asked.iter().map(|path| format!("MEDIA:{path}")).collect();
    let answer = format!("Look.\n{}", lines.join("\n"));
    // The one chance to correct it: the model insists.
    pair.script("p", Turn::text(&answer));
    pair.script("p", Turn::text(&answer));
    pair.ask(A, "send it all");
    pair.seen(A, 3).await;
    pair.settled().await;
    let seen = pair.telegram.chat(A, OWNER);
    let told: String = seen.iter().map(|one| format!("{}\n", one.text)).collect();
    for (name, reason) in [
        ("link.txt", "never sent"),
        ("two.txt", "hard links"),
        ("pipe", "fifo"),
        ("null", "/dev"),
        ("environ", "/proc"),
        ("big.bin", "larger than"),
    ] {
        let line = told
            .lines()
            .find(|line| line.starts_with(&format!("⚠ {name} was not attached: ")))
            .unwrap_or_else(|| panic!("nothing was said of {name}: {told}"));
        assert!(line.contains(reason), "{line}");
    }
    for (name, bytes) in files(&seen) {
        match name {
            "empty.txt" => assert!(bytes.is_empty()),
            "swapped.txt" => assert_eq!(bytes, b"honest"),
            other => panic!("{other} was sent"),
        }
    }
    // No bytes: the platform takes no such file, so it either stands there or its reason does.
    assert!(
        told.contains("empty.txt") || files(&seen).iter().any(|(name, _)| *name == "empty.txt")
    );
    assert!(!told.contains(SECRET));
    pair.clean();
}

#[tokio::test]
async fn s14_odd_files_of_a_container_are_each_refused_with_their_reason() {
    s14(Pair::in_docker().await).await;
}

#[tokio::test]
async fn s14_odd_files_of_a_process_sandbox_are_each_refused_with_their_reason() {
    s14(Pair::in_processes().await).await;
}

/// Commands on this machine whose line holds such a text: containers' processes are among them.
fn running(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| {
            String::from_utf8_lossy(line)
                .replace('\0', " ")
                .contains(marker)
        })
        .count()
}

async fn until_running(marker: &str) {
    let begun = async {
        while running(&format!("sleep {marker}")) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun)
        .await
        .expect("it never began");
}

/// The time-out kills the command and what it started, and the model and the person learn of it.
async fn t7(pair: Pair, marker: &str) {
    let _gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            serde_json::json!({ "command": format!("sleep {marker} & sleep {marker}"), "timeout_seconds": 3 }),
        ),
    );
    pair.script("p", Turn::text("It took too long, so it was stopped."));
    pair.ask(A, "wait for ever");
    until_running(marker).await;
    let seen = pair.seen(A, 1).await;
    assert_eq!(
        seen.last().unwrap().text,
        "It took too long, so it was stopped."
    );
    let told = pair.model.requests().last().unwrap().last_text("tool");
    assert!(told.contains("killed after 3 s"), "{told}");
    assert_eq!(
        running(&format!("sleep {marker}")),
        0,
        "something outlived its time"
    );
    pair.clean();
}

#[tokio::test]
async fn t7_a_command_that_never_ends_dies_in_its_container_with_all_it_started() {
    t7(Pair::in_docker().await, "987651").await;
}

#[tokio::test]
async fn t7_a_command_that_never_ends_dies_in_its_process_sandbox_with_all_it_started() {
    t7(Pair::in_processes().await, "987652").await;
}

/// What a program in the sandbox gets that asks the proxy for an address.
fn fetch(url: &str) -> String {
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf \"GET {url} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n\" >&3; cat <&3'"
    )
}

/// A destination on the list is reached from a sandbox that has no network; a neighbour of it is not.
async fn allowed(pair: Pair) {
    pair.model.list_models(&["a-model-of-the-allowed-server"]);
    let base = pair.model.base_url();
    let allowed = base
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned();
    let config = std::fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let more = format!("model = \"fake/p\"\nsandbox.allow = [\"{allowed}\"]\n");
    pair.home
        .write_config(&config.replace("model = \"fake/p\"\n", &more));
    let _gateway = pair.up().await;
    let other = pair.telegram.api_base();
    for url in [format!("{base}/models"), format!("{other}/secret")] {
        pair.script(
            "p",
            Turn::tool("terminal", serde_json::json!({ "command": fetch(&url) })),
        );
    }
    pair.script("p", Turn::text("looked"));
    pair.ask(A, "look");
    pair.seen(A, 1).await;
    let said = pair.model.requests().last().unwrap().messages();
    let said: Vec<&str> = said
        .iter()
        .filter(|one| one["role"] == "tool")
        .filter_map(|one| one["content"].as_str())
        .collect();
    assert!(
        said[0].contains("200 OK") && said[0].contains("a-model-of-the-allowed-server"),
        "{said:?}"
    );
    assert!(
        said[1].contains("403 Forbidden")
            && said[1].contains("is not on this sandbox's allow list"),
        "{said:?}"
    );
    pair.clean();
}

#[tokio::test]
async fn a_container_without_a_network_reaches_what_its_owner_listed_and_nothing_else() {
    allowed(Pair::in_docker().await).await;
}

#[tokio::test]
async fn a_process_without_a_network_reaches_what_its_owner_listed_and_nothing_else() {
    allowed(Pair::in_processes().await).await;
}

/// A value that the gateway knows stands nowhere that a model or a person reads, however a command prints it.
#[tokio::test]
async fn a_secret_that_a_command_prints_reaches_neither_the_model_nor_the_person() {
    const VALUE: &str = "canary-5f2c9a7be1d04";
    let pair = Pair::in_processes().await;
    let config = std::fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let more = "model = \"fake/p\"\nsandbox.secret_env = [\"env:CANARY\"]\n";
    pair.home
        .write_config(&config.replace("model = \"fake/p\"\n", more));
    let environment = [
        ("TOKEN_A", A),
        ("TOKEN_B", crate::world::B),
        ("CANARY", VALUE),
    ];
    let gateway = crate::world::Gateway::start(&pair.home, &environment).await;
    let command = "echo $CANARY; printf %s \"$CANARY\" | base64; printf %s \"$CANARY\" | od -An -tx1 | tr -d ' \\n'";
    pair.script(
        "p",
        Turn::tool("terminal", serde_json::json!({ "command": command })),
    );
    let base64 = "Y2FuYXJ5LTVmMmM5YTdiZTFkMDQ=";
    pair.script("p", Turn::text(&format!("It is {VALUE}, or {base64}.")));
    pair.ask(A, "print it");
    let seen = pair.seen(A, 1).await;
    pair.settled().await;
    assert_eq!(
        seen.last().unwrap().text,
        "It is [redacted: CANARY], or [redacted: CANARY]."
    );
    let told = pair.model.requests().last().unwrap().last_text("tool");
    assert_eq!(told.matches("[redacted: CANARY]").count(), 3, "{told}");
    let everything = [
        format!("{:?}", pair.model.requests()),
        format!("{:?}", pair.telegram.calls()),
        gateway.log(),
        format!("{:?}", pair.home.objects(&["outbox", "list"]).await),
    ];
    drop(gateway);
    let stored = ["state/tidings.db", "state/tidings.db-wal"]
        .map(|file| std::fs::read(pair.home.path().join(file)).unwrap_or_default());
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [VALUE, base64.trim_end_matches('='), &hex] {
        assert!(
            everything.iter().all(|text| !text.contains(form)),
            "{form} is told"
        );
        let found = stored.iter().any(|bytes| {
            bytes
                .windows(form.len())
                .any(|window| window == form.as_bytes())
        });
        assert!(!found, "{form} is stored");
    }
    pair.clean();
}

/// What an agent left running dies with a gateway that is killed, and the next one says so.
async fn killed(pair: Pair, marker: &str) {
    let gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            serde_json::json!({ "command": format!("sleep {marker}"), "background": true }),
        ),
    );
    pair.script("p", Turn::text("It runs; I tell you when it is done."));
    pair.ask(A, "build it");
    pair.seen(A, 1).await;
    until_running(marker).await;
    gateway.kill().await;
    let _gateway = pair.up().await;
    let told = pair.seen(A, 2).await.pop().unwrap().text;
    assert!(
        told.contains(&format!(
            "Background process p1 (sleep {marker}) ended, because the gateway died"
        )),
        "{told}"
    );
    let gone = async {
        while running(&format!("sleep {marker}")) > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("it outlived its gateway");
    pair.settled().await;
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 2, "it was told twice");
    pair.clean();
}

#[tokio::test]
async fn a_background_process_of_a_killed_gateway_is_ended_and_told_of_in_docker() {
    killed(Pair::in_docker().await, "987653").await;
}

#[tokio::test]
async fn a_background_process_of_a_killed_gateway_is_ended_and_told_of_in_processes() {
    killed(Pair::in_processes().await, "987654").await;
}
