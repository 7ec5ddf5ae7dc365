//! `terminal`: where it is, what it shows, how it ends.

use serde_json::json;

use crate::world::{House, calls, in_chat, says, scope};

fn run(command: &str) -> model::Reply {
    calls("terminal", json!({ "command": command }))
}

#[tokio::test]
async fn the_folder_of_the_last_command_holds_for_the_next_as_in_a_persons_shell() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let done = house
                .turn(
                    &handle,
                    scope(),
                    [
                        run("mkdir -p 'a b/c' && cd 'a b' && echo here"),
                        run("basename \"$PWD\"; cd c; exit 3"),
                        run("basename \"$PWD\"; cd /no/such || (cd ..; exit 1)"),
                        run("basename \"$PWD\"; env | grep TIDINGS; echo \"[$TIDINGS_DIRECTORY]\""),
                        says("done"),
                    ],
                )
                .await;
            assert_eq!(done[0], "here\n");
            assert_eq!(
                done[1], "a b\n[exit code 3]",
                "an exit is no way to lose it"
            );
            assert!(
                done[2].starts_with("c\n") && done[2].ends_with("[exit code 1]"),
                "{done:?}"
            );
            assert_eq!(
                done[3], "c\n[]\n",
                "and nothing of it is left in the environment"
            );
            // The next turn goes on there; another conversation does not.
            let done = house
                .turn(&handle, scope(), [run("basename \"$PWD\"")])
                .await;
            assert_eq!(done, ["c\n"]);
            let done = house
                .turn(&handle, in_chat("bb"), [run("basename \"$PWD\"")])
                .await;
            assert_eq!(done, ["workspace\n"]);
        })
        .await;
}

#[tokio::test]
async fn a_folder_that_is_gone_runs_nothing_elsewhere_and_the_next_command_is_in_the_workspace() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let done = house
                .turn(
                    &handle,
                    scope(),
                    [
                        run("echo keep > keep; mkdir gone; cd gone"),
                        run("rmdir \"$PWD\""),
                        run("rm -f *"),
                        run("basename \"$PWD\"; cat keep"),
                    ],
                )
                .await;
            assert!(
                done[2].contains("there is no folder") && done[2].contains("nothing was run"),
                "{done:?}"
            );
            assert_eq!(done[3], "workspace\nkeep\n");
        })
        .await;
}

#[tokio::test]
async fn the_exit_code_stays_the_commands_own_whatever_it_does_to_its_shell() {
    let house = House::with_a_shell();
    let commands = [
        ("true", "[done, no output]"),
        ("false", "[exit code 1]"),
        ("exit 42", "[exit code 42]"),
        ("set -eu; false; echo no", "[exit code 1]"),
        ("exec true", "[done, no output]"),
        ("exec 8>&-; true", "[done, no output]"),
        ("unset PWD; true", "[done, no output]"),
        ("trap 'echo mine' EXIT; exit 5", "mine\n[exit code 5]"),
        ("kill -9 $$", "[exit code 137]"),
        ("# a comment", "[done, no output]"),
        ("a() { cat <<X\n$1\nX\n}\na words", "words\n"),
        ("cat <<X\ntext\nX", "text\n"),
        ("printf '\\036'", "\u{1e}"),
        ("printf x", "x"),
        ("", "[done, no output]"),
    ];
    house
        .run(async |handle| {
            let replies = commands.iter().map(|(command, _)| run(command));
            let done = house.turn(&handle, scope(), replies).await;
            for ((command, said), result) in commands.iter().zip(done) {
                assert_eq!(&result, said, "{command:?}");
            }
        })
        .await;
}

#[tokio::test]
async fn input_is_read_and_without_any_a_command_that_reads_ends() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let done = house
                .turn(
                    &handle,
                    scope(),
                    [
                        calls("terminal", json!({ "command": "cat", "stdin": "one\ntwo" })),
                        run("cat; echo over"),
                        calls(
                            "terminal",
                            json!({ "command": "true", "stdin": "x".repeat(40_000) }),
                        ),
                        calls(
                            "terminal",
                            json!({ "command": "cat", "stdin": "x".repeat(60_000) }),
                        ),
                    ],
                )
                .await;
            assert_eq!(done[0], "one\ntwo");
            assert_eq!(done[1], "over\n");
            assert_eq!(done[2], "[done, no output]");
            assert!(done[3].contains("takes 48 KB"), "{}", done[3]);
        })
        .await;
}

#[tokio::test]
async fn a_command_that_never_ends_is_killed_and_what_it_said_is_kept() {
    let mut house = House::with_a_shell();
    house.command_seconds = Some(1);
    house
        .run(async |handle| {
            let endless =
                "echo begun; (while :; do echo beat >> beat; sleep 0.05; done) & sleep 1000";
            let done = house.turn(&handle, scope(), [run(endless)]).await;
            assert!(
                done[0].starts_with(
                    "begun\n[time-out: the command and everything it started were killed after 1 s]"
                ),
                "{done:?}"
            );
            let beat = house.shell.as_ref().unwrap().place("/workspace/beat");
            let size = || {
                std::fs::metadata(&beat)
                    .map(|found| found.len())
                    .unwrap_or_default()
            };
            let last = size();
            assert!(last > 0, "the child was there");
            // Ten beats' time.
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            assert_eq!(size(), last, "and is not any more");
        })
        .await;
}

#[tokio::test]
async fn the_person_sees_the_last_line_of_a_command_while_it_runs() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let slow = run("echo '10 %'; until [ -e go ]; do sleep 0.02; done; echo done");
            let turn = house.turn(&handle, scope(), [slow]);
            let seen = async {
                house
                    .until("the line is shown", |house| {
                        house.shown().iter().any(|shown| shown.contains("\\n10 %"))
                    })
                    .await;
                std::fs::write(house.shell.as_ref().unwrap().place("/workspace/go"), "").unwrap();
            };
            let (done, ()) = tokio::join!(turn, seen);
            assert_eq!(done, ["10 %\ndone\n"]);
        })
        .await;
    let shown = house.shown().into_iter();
    let shown = shown
        .filter(|shown| shown.contains("done\\n10 %\""))
        .count();
    assert_eq!(shown, 1, "the command, and below it its last line, once");
}

#[tokio::test]
async fn a_command_is_given_no_path_that_its_shell_did_not_report() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let replies = [run("mkdir d; cd d"), run("pwd -P")];
            let done = house.turn(&handle, scope(), replies).await;
            let asked = house.asked.lock().unwrap();
            for start in &asked.starts {
                assert_eq!(start.directory.as_str(), "/workspace");
            }
            assert_eq!(asked.starts[0].env.len(), 0, "{:?}", asked.starts[0]);
            assert!(!asked.starts[0].command.contains("TIDINGS_DIRECTORY"));
            let reported = asked.starts[1].env["TIDINGS_DIRECTORY"].as_str();
            assert_eq!(done[1].trim_end(), reported);
        })
        .await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_does_not_hold_the_output_open() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let child = "sh -c '[ -e /proc/self/fd/8 ] && echo held || echo free'";
            let replies = [
                run(&format!("mkdir d; cd d; {child}; echo \"it's\"; exit 3")),
                run(&format!("basename \"$PWD\"; ({child}) & wait")),
            ];
            let done = house.turn(&handle, scope(), replies).await;
            assert_eq!(done[0], "free\nit's\n[exit code 3]");
            assert_eq!(done[1], "d\nfree\n");
        })
        .await;
}
