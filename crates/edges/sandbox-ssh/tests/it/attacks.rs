//! People who try to get out, or in.

use conformance::sandbox::bench::{PATIENCE, exec, path};
use sandbox::{Network, SandboxPort};
use waybill::Secret;

use crate::sshd::run;
use crate::world::{World, say, scope, spec};

#[tokio::test]
async fn no_environment_of_a_call_reaches_a_program_outside_the_walls() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    // The dynamic linker of every program that sees these writes a file, if it can reach the folder; one that it may choose to
    // load something it would find by the same way.
    let mut command = exec("echo in; ls /trace 2>/dev/null");
    let trace = world.sshd.path("trace").display().to_string();
    command
        .env
        .insert("LD_DEBUG".to_owned(), "files".to_owned());
    command.env.insert("LD_DEBUG_OUTPUT".to_owned(), trace);
    let output = world
        .driver
        .exec(&scope("work"), &spec, command)
        .await
        .unwrap();
    assert!(
        String::from_utf8_lossy(&output.bytes).contains("in\n"),
        "{output:?}"
    );
    let left: Vec<String> = std::fs::read_dir(world.sshd.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("trace"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn the_accounts_home_its_sockets_and_the_folder_of_sandboxes_are_not_there() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    let boxes = world.sshd.path("boxes").display().to_string();
    std::fs::write(world.sshd.path("own.txt"), "the account's own").unwrap();
    let home = run("sh", &["-c", "cd ~ && pwd -P"]);
    let command = format!(
        "ls -A /run /home /var '{boxes}' '{}' 2>/dev/null; [ '{home}' = /root ] || ls -A '{home}' 2>/dev/null; ls -A /root",
        world.sshd.path("").display()
    );
    let said = say(&world.driver, &spec, &command).await.unwrap();
    let names: Vec<&str> = said
        .lines()
        .filter(|line| !line.is_empty() && !line.ends_with(':') && *line != "tmp")
        .collect();
    assert!(names.is_empty(), "{said}");
}

#[tokio::test]
async fn the_system_can_be_read_and_not_written() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    let said = say(
        &world.driver,
        &spec,
        "for f in /etc/x /usr/x /opt/x /x /srv/x /proc/sys/kernel/domainname; do (echo x > $f) 2>/dev/null && echo wrote $f; done; ls /usr/bin/env",
    )
    .await
    .unwrap();
    assert_eq!(said, "/usr/bin/env\n");
}

#[tokio::test]
async fn no_secret_and_no_command_stands_on_a_command_line_outside() {
    let world = World::with("");
    let mut spec = spec(world.sshd.remote());
    spec.secret_env.insert(
        "TOKEN".to_owned(),
        Secret::new("s3cr3t-value'\\\n\u{e9}%n".to_owned()),
    );
    let scope = scope("work");
    let running = world.driver.exec(
        &scope,
        &spec,
        exec("printf %s \"$TOKEN\" > seen; touch up; until [ -e go ]; do sleep 0.05; done"),
    );
    let looking = async {
        while world
            .driver
            .read(&scope, &spec, &path("up"), 0, 1)
            .await
            .is_err()
        {}
        let lines = run(
            "sh",
            &[
                "-c",
                "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\000' ' '; true",
            ],
        );
        say(&world.driver, &spec, "touch go").await.unwrap();
        lines
    };
    let both = async { tokio::join!(running, looking) };
    let (output, lines) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    output.unwrap();
    assert!(
        lines.contains("bwrap") && !lines.contains("s3cr3t"),
        "{lines}"
    );
    let (seen, _) = world
        .driver
        .read(&scope, &spec, &path("seen"), 0, 100)
        .await
        .unwrap();
    assert_eq!(seen, "s3cr3t-value'\\\n\u{e9}%n".as_bytes());
}

#[tokio::test]
async fn a_variables_name_is_no_way_to_a_shell() {
    let world = World::with("");
    let mut spec = spec(world.sshd.remote());
    let mut command = exec("echo ran");
    command
        .env
        .insert("A=1; touch /workspace/pwned; B".to_owned(), "x".to_owned());
    world
        .driver
        .exec(&scope("work"), &spec, command)
        .await
        .unwrap_err();
    spec.env.insert("$(touch pwned)".to_owned(), "x".to_owned());
    say(&world.driver, &spec, "echo ran").await.unwrap_err();
    spec.env.clear();
    assert_eq!(say(&world.driver, &spec, "ls").await.unwrap(), "");
    say(&world.driver, &spec, "echo a\0b").await.unwrap_err();
}

#[tokio::test]
async fn bridge_reaches_the_network_of_that_machine_and_none_does_not() {
    let world = World::with("");
    let mut spec = spec(world.sshd.remote());
    let knock = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{} && head -c 4 <&3' 2>/dev/null; echo",
        world.sshd.port()
    );
    assert_eq!(say(&world.driver, &spec, &knock).await.unwrap(), "\n");
    spec.network = Network::Bridge;
    assert_eq!(say(&world.driver, &spec, &knock).await.unwrap(), "SSH-\n");
}
