//! Commands: what goes in, what comes out, how they end.

use std::time::{Duration, Instant};

use sandbox::{Exec, Exit};
use waybill::Secret;

use super::bench::{Bench, SandboxWorld, exec, path};

/// A loop that lengthens a file for ever.
const BEAT: &str = "while :; do echo beat >> /workspace/beat; sleep 0.1; done";

/// Both streams come out; the exit is 0.
pub async fn a_command_says_what_it_says_on_both_streams<W: SandboxWorld>(bench: Bench<W>) {
    let output = bench.run("echo out; echo err >&2").await;
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.left_out, 0);
    let text = String::from_utf8(output.bytes).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out"]);
}

/// A command that fails is an output, not an error.
pub async fn a_failing_command_gives_its_exit_code<W: SandboxWorld>(bench: Bench<W>) {
    let output = bench.run("echo no >&2; exit 7").await;
    assert_eq!(output.exit, Exit::Code(7));
    assert_eq!(output.bytes, b"no\n");
    assert_eq!(
        bench.run("no-such-command-at-all").await.exit,
        Exit::Code(127)
    );
    assert_ne!(bench.run("if then fi (").await.exit, Exit::Code(0));
}

/// Standard input arrives whole and ends.
pub async fn a_command_reads_what_it_is_given<W: SandboxWorld>(bench: Bench<W>) {
    let command = Exec {
        stdin: b"first\nsecond\n".to_vec(),
        ..exec("read line; echo \"[$line]\"; cat")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.bytes, b"[first]\nsecond\n");
    let command = Exec {
        stdin: vec![b'x'; 1 << 20],
        ..exec("wc -c")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.bytes).trim(), "1048576");
}

/// Input that nobody reads does not hold the answer.
pub async fn a_command_that_ignores_its_input_still_ends<W: SandboxWorld>(bench: Bench<W>) {
    let command = Exec {
        stdin: vec![b'x'; 4 << 20],
        ..exec("echo done")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.bytes, b"done\n");
}

/// The directory is where the command starts; `~` is `/root`.
pub async fn a_command_starts_where_it_was_told_to<W: SandboxWorld>(bench: Bench<W>) {
    assert_eq!(bench.say("pwd").await, "/workspace\n");
    assert_eq!(
        bench.say("cd ~ && pwd && echo $HOME").await,
        "/root\n/root\n"
    );
    bench.say("mkdir -p '/workspace/a b/-c'").await;
    let command = Exec {
        directory: path("/workspace/a b/-c"),
        ..exec("pwd")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.bytes, b"/workspace/a b/-c\n");
    let command = Exec {
        directory: path("/workspace/nowhere"),
        ..exec("echo ran")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await;
    // An error or a failed command, as the driver likes; but it must not run elsewhere.
    if let Ok(output) = output {
        assert_ne!(output.exit, Exit::Code(0));
        assert!(!String::from_utf8_lossy(&output.bytes).contains("ran"));
    }
}

/// Bytes, not text.
pub async fn bytes_that_are_no_text_come_out_as_they_went_in<W: SandboxWorld>(bench: Bench<W>) {
    let all: Vec<u8> = (0..=255).cycle().take(3000).collect();
    let command = Exec {
        stdin: all.clone(),
        ..exec("cat")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.bytes, all);
}

/// The cap keeps both ends and counts the middle.
pub async fn ten_megabytes_of_output_keep_head_and_tail<W: SandboxWorld>(bench: Bench<W>) {
    let output = bench
        .run("printf BEGIN; head -c 10485760 /dev/zero | tr '\\000' x; printf END")
        .await;
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.bytes.len(), 64 << 10);
    assert_eq!(output.left_out, 10_485_760 + 8 - (64 << 10));
    assert!(output.bytes.starts_with(b"BEGINxxx"));
    assert!(output.bytes.ends_with(b"xxxEND"));
}

/// Secret values reach the command and nothing else.
pub async fn the_environment_reaches_the_command_and_its_secrets_stay_out_of_sight<
    W: SandboxWorld,
>(
    mut bench: Bench<W>,
) {
    bench
        .spec
        .env
        .insert("GREETING".to_owned(), "good 'day' $HOME".to_owned());
    bench.spec.secret_env.insert(
        "API_TOKEN".to_owned(),
        Secret::new("s3cr3t-value".to_owned()),
    );
    assert_eq!(
        bench
            .say("printf '%s|%s' \"$GREETING\" \"$API_TOKEN\"")
            .await,
        "good 'day' $HOME|s3cr3t-value"
    );
    let lines = bench
        .say("cat /proc/*/cmdline 2>/dev/null | tr '\\000' ' '; true")
        .await;
    assert!(
        !lines.contains("s3cr3t-value"),
        "a secret stands on a command line: {lines}"
    );
}

/// The time-out takes the whole group, and comes back soon.
pub async fn a_command_that_never_ends_is_killed_with_all_it_started<W: SandboxWorld>(
    bench: Bench<W>,
) {
    bench.say("true").await;
    let command = Exec {
        timeout: Duration::from_secs(2),
        ..exec(&format!("echo begun; ({BEAT}) & sleep 1000"))
    };
    let started = Instant::now();
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    let took = started.elapsed();
    assert_eq!(output.exit, Exit::TimedOut);
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_secs(7),
        "came back after {took:?}"
    );
    assert_eq!(
        output.bytes, b"begun\n",
        "what was said before the end is kept"
    );
    bench.until_written("/workspace/beat").await;
    bench.until_still("/workspace/beat").await;
    assert_eq!(bench.say("echo alive").await, "alive\n");
}

/// A new session is no way out.
pub async fn a_child_that_left_the_group_is_killed_too<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let command = Exec {
        timeout: Duration::from_secs(2),
        ..exec(&format!(
            "setsid sh -c '{BEAT}' >/dev/null 2>&1 & sleep 1000"
        ))
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::TimedOut);
    bench.until_written("/workspace/beat").await;
    bench.until_still("/workspace/beat").await;
}

/// The answer comes when the command ends, though a child holds its output open.
pub async fn a_command_left_in_the_background_does_not_hold_the_answer<W: SandboxWorld>(
    bench: Bench<W>,
) {
    bench.say("true").await;
    let started = Instant::now();
    let output = bench.run("sleep 50 & echo started").await;
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.bytes, b"started\n");
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "took {:?}",
        started.elapsed()
    );
}

/// Cancellation is dropping the future.
pub async fn dropping_the_future_kills_the_command<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let scope = bench.scope("work");
    let running = bench.port.exec(&scope, &bench.spec, exec(BEAT));
    tokio::select! {
        output = running => panic!("a command without end ended: {output:?}"),
        () = bench.until_written("/workspace/beat") => {}
    }
    bench.until_still("/workspace/beat").await;
    assert_eq!(bench.say("echo alive").await, "alive\n");
}

/// Commands of one sandbox do not wait for one another.
pub async fn two_commands_run_side_by_side<W: SandboxWorld>(bench: Bench<W>) {
    // Each waits for the other's word; one after the other they would never end.
    let (left, right) = tokio::join!(
        bench.run("touch left; until [ -e right ]; do sleep 0.05; done; echo l"),
        bench.run("touch right; until [ -e left ]; do sleep 0.05; done; echo r"),
    );
    assert_eq!((left.exit, right.exit), (Exit::Code(0), Exit::Code(0)));
    assert_eq!(
        (left.bytes.as_slice(), right.bytes.as_slice()),
        (b"l\n".as_slice(), b"r\n".as_slice())
    );
}

/// The workspace and the home outlive a command and the gateway.
pub async fn what_a_command_left_is_there_for_the_next_and_after_a_restart<W: SandboxWorld>(
    mut bench: Bench<W>,
) {
    bench
        .say("echo kept > note; echo mine > ~/own; mkdir -p d && echo deep > d/e")
        .await;
    assert_eq!(bench.say("cat note ~/own d/e").await, "kept\nmine\ndeep\n");
    bench.port = bench.world.restarted();
    assert_eq!(bench.say("cat note ~/own d/e").await, "kept\nmine\ndeep\n");
}
