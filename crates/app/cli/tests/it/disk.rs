//! D6: what the disk does to the database, on the real binary. A broken database is never replaced by a fresh one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::http::Ask;
use testkit::model_server::Turn;

use crate::world::{A, B, Gateway, Home, OWNER, PATIENCE, Pair, tidings, words};

/// A home whose demo agent has answered once.
async fn lived() -> Home {
    let home = Home::new();
    home.write_config("[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"process\" }\n");
    let gateway = Gateway::start(&home, &[]).await;
    let cookie = gateway.log_in().await;
    let opened = Ask::post("/api/conversations")
        .header("cookie", &cookie)
        .json(&json!({ "profile": "default" }))
        .send(gateway.address())
        .await
        .unwrap();
    assert!(opened.status < 300, "{}", opened.text());
    assert!(gateway.terminate().await.success());
    assert!(
        !home.path().join("state/tidings.db-wal").exists(),
        "a log after a clean stop"
    );
    home
}

/// How many notices in the owner's home chat say this.
async fn told(gateway: &Gateway, cookie: &str, said: &str) -> usize {
    let answer = Ask::get("/api/conversations/notices-p/messages")
        .header("cookie", cookie)
        .send(gateway.address())
        .await
        .unwrap();
    let entries = answer.json().unwrap();
    let entries = entries["entries"].as_array().unwrap();
    entries
        .iter()
        .filter(|entry| entry.to_string().contains(said))
        .count()
}

/// Waits until the owner was told.
async fn until_told(gateway: &Gateway, cookie: &str, said: &str) {
    let wait = async {
        while told(gateway, cookie, said).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .unwrap_or_else(|_late| panic!("nobody was told '{said}': {}", gateway.log()));
}

fn database(home: &Home) -> PathBuf {
    home.path().join("state/tidings.db")
}

/// The gateway does not start, names the file and says what to do; the file is as it was.
async fn refused(home: &Home, said: &[&str]) {
    let before = fs::read(database(home)).ok();
    for arguments in [&["up", "--listen", "127.0.0.1:0"][..], &["outbox", "list"]] {
        let output = tokio::time::timeout(PATIENCE, home.run(arguments))
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("tidings.db"), "no file is named: {text}");
        let told = arguments.first() != Some(&"up") || said.iter().all(|word| text.contains(word));
        assert!(told, "{said:?}: {text}");
    }
    assert!(fs::read(database(home)).ok() == before, "it was touched");
}

#[tokio::test]
async fn d6_a_text_file_in_the_databases_place_is_refused() {
    let home = lived().await;
    fs::write(database(&home), "my diary").unwrap();
    refused(&home, &["is not a database", "backup"]).await;
}

#[tokio::test]
async fn d6_another_programs_database_is_refused() {
    let home = lived().await;
    let mut bytes = fs::read(database(&home)).unwrap();
    // The mark of the program that a database belongs to.
    bytes[68..72].copy_from_slice(b"ELSE");
    fs::write(database(&home), bytes).unwrap();
    refused(&home, &["of another program", "move it away"]).await;
}

#[tokio::test]
async fn d6_a_newer_versions_database_is_refused() {
    let home = lived().await;
    let mut bytes = fs::read(database(&home)).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(database(&home), bytes).unwrap();
    refused(&home, &["newer version", "backup"]).await;
}

#[tokio::test]
async fn d6_a_database_that_was_cut_off_is_refused() {
    let home = lived().await;
    let bytes = fs::read(database(&home)).unwrap();
    fs::write(database(&home), &bytes[..bytes.len() / 2]).unwrap();
    refused(&home, &["is damaged", "backup"]).await;
}

#[tokio::test]
async fn d6_an_empty_file_is_refused() {
    let home = lived().await;
    fs::write(database(&home), "").unwrap();
    refused(&home, &["is empty", "backup"]).await;
}

#[tokio::test]
async fn d6_a_database_with_a_damaged_schema_is_refused() {
    let home = lived().await;
    let mut bytes = fs::read(database(&home)).unwrap();
    bytes[100..600].fill(0xA5);
    fs::write(database(&home), bytes).unwrap();
    refused(&home, &["is damaged", "backup"]).await;
}

#[tokio::test]
async fn d6_a_missing_database_is_not_made_anew_while_its_artifacts_are_there() {
    let home = lived().await;
    fs::create_dir_all(home.path().join("state/blobs/default/ab")).unwrap();
    fs::write(home.path().join("state/blobs/default/ab/abcd"), "bytes").unwrap();
    fs::remove_file(database(&home)).unwrap();
    refused(&home, &["is missing", "backup", "state/blobs"]).await;
    assert!(!database(&home).exists());
}

/// Asks as somebody who may not pass over permissions; `None` where that can't be.
async fn as_nobody(home: &Home, arguments: &[&str]) -> Option<std::process::Output> {
    let mut command = tokio::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_tidings"))
        .args(arguments)
        .arg("--home")
        .arg(home.path());
    let output = command.kill_on_drop(true).output().await.ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("setpriv: ") || text.contains("failed to execute") {
        eprintln!("SKIPPED: this test needs root and setpriv: {text}");
        return None;
    }
    Some(output)
}

/// Gives a folder with all that is in it to nobody.
fn give_away(path: &Path) {
    std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

#[tokio::test]
async fn d6_a_folder_that_cant_be_written_is_refused() {
    let home = lived().await;
    let above = home.path().parent().unwrap().to_owned();
    let given = std::os::unix::fs::chown(&above, Some(65_534), Some(65_534));
    if given.is_err() {
        eprintln!("SKIPPED: this test needs root");
        return;
    }
    give_away(&home.path());
    let state = home.path().join("state");
    let before = fs::read(database(&home)).unwrap();
    for (path, mode) in [(database(&home), 0o400), (state.clone(), 0o500)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let Some(output) = as_nobody(&home, &["up", "--listen", "127.0.0.1:0"]).await else {
        return;
    };
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("tidings.db") && text.contains("can't be written") && text.contains("give"),
        "{text}"
    );
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(
        fs::read(database(&home)).unwrap() == before,
        "it was touched"
    );
}

#[tokio::test]
async fn d6_a_damaged_page_is_found_beside_the_work_and_the_owner_is_told() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    for number in 0..4 {
        pair.script(
            "p",
            Turn::text(&format!("answer {number} {}", "x".repeat(3_000))),
        );
        pair.ask(A, &format!("question {number} {}", "y".repeat(3_000)));
        pair.seen(A, number + 1).await;
    }
    pair.settled().await;
    assert!(gateway.terminate().await.success());
    // Flip the middle of pages that hold what was said long ago: the schema and what a start needs stay.
    let path = database(&pair.home);
    let mut bytes = fs::read(&path).unwrap();
    let marks: Vec<usize> = bytes
        .windows(9)
        .enumerate()
        .filter(|(_, window)| *window == b"question ")
        .map(|(place, _)| place)
        .collect();
    let page = marks[marks.len() / 2] / 4096 * 4096;
    assert!(page > 4096);
    // The list of cells of that page points outside of it.
    bytes[page + 8..page + 40].fill(0xFF);
    fs::write(&path, &bytes).unwrap();
    let gateway = pair.up().await;
    let degraded = async {
        loop {
            let health = Ask::get("/health").send(gateway.address()).await.unwrap();
            assert_eq!(health.status, 200);
            if health.text() == "degraded: the database is damaged" {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, degraded)
        .await
        .unwrap_or_else(|_late| panic!("it was not found: {}", gateway.log()));
    let cookie = gateway.log_in().await;
    until_told(&gateway, &cookie, "is damaged").await;
    let status = Ask::get("/api/status")
        .header("cookie", &cookie)
        .send(gateway.address())
        .await
        .unwrap();
    assert!(
        status.text().contains("the database is damaged: "),
        "{}",
        status.text()
    );
    let place = pair.home.path().with_file_name("copy");
    let output = pair
        .home
        .run(&["backup", &place.display().to_string()])
        .await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("damaged")
    );
    assert!(!place.exists());
}

/// A small disk, mounted where a home will be; `None` where that can't be done.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: &Path, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        let mounted = std::process::Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("mode=700,size={megabytes}m"),
                "tmpfs",
            ])
            .arg(place)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(place.to_owned()));
        }
        eprintln!("SKIPPED: a small disk can't be mounted here (this test needs root)");
        None
    }

    /// Fills it to the last byte.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while std::io::Write::write_all(&mut file, &vec![1; size]).is_ok() {}
        }
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let status = std::process::Command::new("umount")
            .args(["-l"])
            .arg(&self.0)
            .status();
        assert!(status.unwrap().success());
    }
}

async fn upload(gateway: &Gateway, cookie: &str, conversation: &str) -> testkit::http::Answer {
    Ask::post(format!(
        "/api/conversations/{conversation}/files?name=a.txt"
    ))
    .header("cookie", cookie)
    .body(b"a small file".to_vec())
    .send(gateway.address())
    .await
    .unwrap()
}

#[tokio::test]
async fn d6_on_a_full_disk_the_owner_is_told_words_go_on_and_files_wait_for_room() {
    let pair = Pair::in_processes().await;
    let config = fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let Some(disk) = SmallDisk::mount(&pair.home.path(), 64) else {
        return;
    };
    pair.home.write_config(&config);
    let gateway = pair.up().await;
    let ballast = pair.home.path().join("state/ballast");
    let kept = async {
        while !ballast.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, kept).await.unwrap();
    let cookie = gateway.log_in().await;
    let opened = Ask::post("/api/conversations")
        .header("cookie", &cookie)
        .json(&json!({ "profile": "p" }))
        .send(gateway.address())
        .await
        .unwrap();
    let id = opened.json().unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(upload(&gateway, &cookie, &id).await.status, 201);

    disk.fill();
    // People go on writing; whatever the disk does, each is answered once.
    let mut asked = 0;
    let degraded = async {
        loop {
            pair.script("p", Turn::text(&format!("answer {asked}")));
            pair.ask(A, &format!("question {asked} {}", "x".repeat(2_000)));
            asked += 1;
            pair.seen(A, asked).await;
            let health = Ask::get("/health").send(gateway.address()).await.unwrap();
            if health.text() == "degraded: the disk is full" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, degraded)
        .await
        .unwrap_or_else(|_late| panic!("it never filled: {}", gateway.log()));
    assert!(!ballast.exists(), "the ballast was not let go");
    pair.script("p", Turn::text("still here"));
    pair.ask(A, "are you there?");
    let seen = pair.seen(A, asked + 1).await;
    pair.settled().await;
    let mut expected: Vec<String> = (0..asked)
        .map(|number| format!("answer {number}"))
        .collect();
    expected.push("still here".to_owned());
    assert_eq!(words(&seen), expected);
    assert_eq!(pair.telegram.chat(A, OWNER).len(), asked + 1);

    let refused = upload(&gateway, &cookie, &id).await;
    assert_eq!(refused.status, 507, "{}", refused.text());
    assert!(
        refused.text().contains("disk is full"),
        "{}",
        refused.text()
    );
    until_told(&gateway, &cookie, "Free some space").await;
    let times = told(&gateway, &cookie, "Free some space").await;
    assert_eq!(times, 1, "the owner is told once");
    assert!(gateway.log().contains("degraded: the disk is full"));
    fs::remove_file(disk.0.join("filler")).unwrap();
    // It is looked every minute; a start looks at once.
    assert!(gateway.terminate().await.success());
    let gateway = pair.up().await;
    let kept = async {
        while !ballast.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, kept).await.unwrap();
    let cookie = gateway.log_in().await;
    assert_eq!(upload(&gateway, &cookie, &id).await.status, 201);
    let health = Ask::get("/health").send(gateway.address()).await.unwrap();
    assert_eq!(health.text(), "ok");
    pair.clean();
    drop(gateway);
}

#[tokio::test]
async fn d6_a_backup_runs_as_a_home_of_its_own_and_what_it_calls_open_is_marked() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let hold = testkit::telegram::Gate::default();
    pair.telegram.script(
        testkit::telegram::Rule::on("sendMessage"),
        testkit::telegram::Trouble::Hold(hold.clone()),
    );
    pair.script("p", Turn::text("on its way"));
    pair.ask(A, "hi");
    let sending = async {
        while pair
            .home
            .objects(&["outbox", "list", "--state", "sending"])
            .await
            .is_empty()
        {}
    };
    tokio::time::timeout(PATIENCE, sending).await.unwrap();
    let place = pair.home.path().with_file_name("copy");
    let made = pair
        .home
        .objects(&["backup", &place.display().to_string()])
        .await;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["backup"], place.display().to_string());
    assert_eq!(made[0]["secrets"], false);
    assert!(!place.join("secrets").exists() && !place.join("run").exists());
    hold.release();
    pair.seen(A, 1).await;
    pair.settled().await;
    assert!(gateway.terminate().await.success());
    // A refusal leaves the first one as it is.
    let again = pair
        .home
        .run(&["backup", &place.display().to_string()])
        .await;
    assert_eq!(again.status.code(), Some(1));
    let text = String::from_utf8(again.stderr).unwrap();
    assert!(text.contains("not empty"), "{text}");

    // The copy takes the place of the original, without its generation.
    let kept = pair.home.path().with_file_name("kept");
    fs::rename(pair.home.path(), &kept).unwrap();
    fs::rename(&place, pair.home.path()).unwrap();
    let gateway = pair.up().await;
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(words(&seen)[0], "on its way");
    assert!(
        words(&seen)[1].contains("on its way") && words(&seen)[1].contains("may be a repeat"),
        "{seen:?}"
    );
    let cookie = gateway.log_in().await;
    let said = "put back from a copy";
    until_told(&gateway, &cookie, said).await;
    assert!(gateway.terminate().await.success());
    let gateway = pair.up().await;
    pair.settled().await;
    let cookie = gateway.log_in().await;
    let times = told(&gateway, &cookie, said).await;
    assert_eq!(times, 1, "it was told twice");
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 2);
}

#[tokio::test]
async fn d6_a_turn_that_ran_in_an_old_copy_ends_with_a_sentence() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let gate = testkit::model_server::Gate::new();
    pair.script("p", Turn::text("I am in the mid").pause_until(&gate));
    pair.ask(A, "tell me");
    assert!(gate.reached(PATIENCE).await);
    let place = pair.home.path().with_file_name("copy");
    let output = pair
        .home
        .run(&["backup", &place.display().to_string()])
        .await;
    assert!(output.status.success(), "{output:?}");
    gateway.kill().await;
    fs::rename(pair.home.path(), pair.home.path().with_file_name("kept")).unwrap();
    fs::rename(&place, pair.home.path()).unwrap();
    let requests = pair.model.requests().len();
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 1).await;
    pair.settled().await;
    assert!(
        words(&seen)[0].contains("put back from a copy") && words(&seen)[0].contains("ask again"),
        "{seen:?}"
    );
    assert_eq!(
        pair.model.requests().len(),
        requests,
        "it was taken up again"
    );
}

#[tokio::test]
async fn a_home_that_never_ran_has_nothing_to_back_up() {
    let home = Home::new();
    home.write_config("");
    let place = home.path().with_file_name("copy");
    let output = home.run(&["backup", &place.display().to_string()]).await;
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("no database") && text.contains("tidings up"),
        "{text}"
    );
    assert!(!place.exists());
    let help = tidings().args(["backup", "--help"]).output().await.unwrap();
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("--with-secrets")
    );
}

#[tokio::test]
async fn c19_a_crash_between_database_and_file_is_not_taken_for_a_restore() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    pair.script("p", Turn::text("hello"));
    pair.ask(A, "hi");
    pair.seen(A, 1).await;
    pair.settled().await;
    gateway.kill().await;
    pair.start_and_die("C19").await;
    // The second one is that of the clean stop.
    let ended = pair.up_to("C19@2").await.terminate().await;
    assert!(!ended.success(), "it was not cut: {ended}");
    let gateway = pair.up().await;
    pair.settled().await;
    assert!(
        !gateway.log().contains("put back from a copy"),
        "{}",
        gateway.log()
    );
    let cookie = gateway.log_in().await;
    assert_eq!(told(&gateway, &cookie, "put back from a copy").await, 0);
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 1);
}

#[tokio::test]
async fn d6_a_start_on_a_full_disk_uses_the_ballast_and_without_one_says_what_to_do() {
    let pair = Pair::in_processes().await;
    let config = fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let Some(disk) = SmallDisk::mount(&pair.home.path(), 64) else {
        return;
    };
    pair.home.write_config(&config);
    let gateway = pair.up().await;
    let ballast = pair.home.path().join("state/ballast");
    let kept = async {
        while !fs::metadata(&ballast).is_ok_and(|file| file.len() >= 8 << 20) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, kept).await.unwrap();
    assert!(gateway.terminate().await.success());
    disk.fill();
    let gateway = pair.up().await;
    assert!(!ballast.exists());
    let cookie = gateway.log_in().await;
    until_told(&gateway, &cookie, "Free some space").await;
    pair.script("p", Turn::text("still here"));
    pair.ask(A, "are you there?");
    assert_eq!(words(&pair.seen(A, 1).await), ["still here"]);
    pair.settled().await;
    assert!(gateway.terminate().await.success());
    fs::rename(disk.0.join("filler"), disk.0.join("filled")).unwrap();
    disk.fill();
    let before = fs::read(database(&pair.home)).unwrap();
    let output = tidings()
        .args(["up", "--listen", "127.0.0.1:0", "--home"])
        .arg(pair.home.path())
        .envs([("TOKEN_A", A), ("TOKEN_B", B)])
        .output();
    let output = tokio::time::timeout(PATIENCE, output)
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("tidings.db")
            && text.contains("disk is full")
            && text.contains("free some space"),
        "{text}"
    );
    assert!(
        fs::read(database(&pair.home)).unwrap() == before,
        "it was touched"
    );
    pair.clean();
}
