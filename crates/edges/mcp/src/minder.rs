//! The process between the gateway and a server that is a program: it ends the server, and all that the server started, when the
//! gateway wants that or is no more.
//!
//! The gateway's own executable is started again with a hidden first argument; its `main` calls [`run`] before it starts a thread.
//! The minder starts the server on its own standard input and output, and holds on to nothing but their state: when nobody is left
//! at the other end of its standard input or its standard error, the gateway let go of the server or died, by whatever signal. Then
//! the server has a moment to end by itself (its own input ended, which the protocol takes for a goodbye), then it is asked, then it
//! is killed. Processes that it left behind become the minder's own (`PR_SET_CHILD_SUBREAPER`), even out of their own sessions, and
//! are killed with it.
//!
//! What the machine does not let anybody promise: a minder that is itself killed by name leaves its server alone.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, wait,
};

/// How long a server may take to end after its input ended, and again after it was asked.
const GRACE: Duration = Duration::from_secs(2);
/// How often a server is looked at where the kernel can't tell of its end.
const LOOK: Duration = Duration::from_millis(100);
/// How often those that are left are killed: each round may find children of the last one.
const ROUNDS: u32 = 50;
/// Between the rounds.
const ROUND: Duration = Duration::from_millis(20);
/// Exit code of a shell for a program that is not there.
const NOT_FOUND: i32 = 127;

/// Becomes the minder of a server; `command` is the server's command line. Returns when the server has ended and nothing of it is
/// left, by ending the process with its exit code.
pub fn run(command: &[String]) -> ! {
    std::process::exit(mind(command))
}

fn mind(command: &[String]) -> i32 {
    let Some((program, arguments)) = command.split_first() else {
        say("no command is configured");
        return 2;
    };
    // Where the kernel refuses, processes in sessions of their own are out of reach; the server itself is not.
    set_child_subreaper(Some(getpid())).unwrap_or_default();
    let started = Command::new(program)
        .args(arguments)
        .process_group(0)
        .spawn();
    let server = match started {
        Ok(server) => server,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            say(&format!("there is no program '{program}'"));
            return NOT_FOUND;
        }
        Err(error) => {
            say(&format!("'{program}' can't be started: {error}"));
            return 126;
        }
    };
    let mut server = Server::new(server);
    let status = server.wait();
    sweep();
    status.map_or(1, |status| {
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    })
}

/// If nobody hears it, nobody is left to tell.
fn say(words: &str) {
    writeln!(io::stderr(), "{words}").unwrap_or_default();
}

struct Server {
    child: Child,
    /// Readable when it has ended.
    end: Option<OwnedFd>,
}

impl Server {
    fn new(child: Child) -> Self {
        let end = pid_of(child.id()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { child, end }
    }

    /// Waits for its end, and brings it about when the gateway is gone.
    fn wait(&mut self) -> Option<ExitStatus> {
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if self.watch(None) == Seen::Alone {
                break;
            }
        }
        // Its input ended too: that is the protocol's goodbye.
        for signal in [None, Some(Signal::TERM)] {
            if let Some(signal) = signal {
                self.tell(signal);
            }
            if let Some(status) = self.ended_within(GRACE) {
                return Some(status);
            }
        }
        self.tell(Signal::KILL);
        self.child.wait().ok()
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn ended_within(&mut self, within: Duration) -> Option<ExitStatus> {
        let rounds = within.as_millis() / LOOK.as_millis();
        for _ in 0..rounds {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            let mut end: Vec<PollFd<'_>> = self
                .end
                .iter()
                .map(|end| PollFd::new(end, PollFlags::IN))
                .collect();
            rest(&mut end, LOOK);
        }
        self.ended()
    }

    /// Waits until something happens, or for a moment where the kernel can't tell of the server's end.
    fn watch(&self, most: Option<Duration>) -> Seen {
        let (input, errors) = (io::stdin(), io::stderr());
        // Without a wish, the kernel tells of nothing but the other side's end.
        let mut watched = vec![
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::empty()),
            PollFd::from_borrowed_fd(errors.as_fd(), PollFlags::empty()),
        ];
        if let Some(end) = &self.end {
            watched.push(PollFd::new(end, PollFlags::IN));
        }
        let most = most.or(if self.end.is_some() { None } else { Some(LOOK) });
        let most = most.map(timespec);
        match poll(&mut watched, most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Seen::Alone,
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let alone = watched
            .iter()
            .take(2)
            .any(|one| one.revents().intersects(gone));
        if alone { Seen::Alone } else { Seen::Company }
    }

    fn tell(&self, signal: Signal) {
        if let Some(pid) = pid_of(self.child.id()) {
            kill_process_group(pid, signal).unwrap_or_default();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The gateway is gone.
    Alone,
    Company,
}

/// Kills all that the server left behind.
fn sweep() {
    for _ in 0..ROUNDS {
        let left = below(getpid().as_raw_nonzero().get());
        for pid in &left {
            if let Some(pid) = Pid::from_raw(*pid) {
                kill_process(pid, Signal::KILL).unwrap_or_default();
            }
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if left.is_empty() {
            return;
        }
        rest(&mut [], ROUND);
    }
}

/// All processes that come from one.
fn below(ancestor: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let parent = std::fs::read_to_string(entry.path().join("stat"))
            .ok()
            .and_then(|stat| parent(&stat));
        if let (Some(pid), Some(parent)) = (pid, parent) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![ancestor];
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// The parent in `/proc/PID/stat`: the second field after the name, which stands in brackets and may hold any sign.
fn parent(stat: &str) -> Option<i32> {
    let (_name, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn pid_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Waits for one of these, or for so long.
fn rest(watched: &mut [PollFd<'_>], most: Duration) {
    poll(watched, Some(&timespec(most)))
        .map(drop)
        .unwrap_or_default();
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_whatever_a_process_calls_itself() {
        for (stat, expected) in [
            ("12 (sh) S 7 12 12 0 -1", Some(7)),
            ("12 (a) b) (c) R 9 1 1", Some(9)),
            ("12 (sh", None),
            ("", None),
        ] {
            assert_eq!(parent(stat), expected, "{stat}");
        }
    }
}
