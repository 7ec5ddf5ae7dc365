//! Sandboxes to look at.

use std::time::Duration;

use async_trait::async_trait;
use sandbox::{Driver, Keeper, Logbook, Ran, SandboxError, Standing, State};
use waybill::Timestamp;

pub(crate) struct Computers(pub(crate) Timestamp);

impl Computers {
    fn ago(&self, seconds: u64) -> Timestamp {
        self.0
            .saturating_sub(Duration::from_secs(seconds))
            .unwrap_or(self.0)
    }
}

#[async_trait]
impl Keeper for Computers {
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let standing =
            |id: &str, profile: &str, driver, made_of: &str, state, processes| Standing {
                id: id.to_owned(),
                profile: profile.parse().ok(),
                key: format!("profile:{profile}"),
                driver,
                made_of: made_of.to_owned(),
                state,
                since: Some(self.ago(9_000)),
                lease: self.0.checked_add(Duration::from_secs(2_700)).ok(),
                disk: Some(734 << 20),
                memory: Some(96 << 20),
                processes,
            };
        Ok(vec![
            standing(
                "4f1d0c2ab7e9",
                "default",
                Driver::Docker,
                "debian:bookworm-slim",
                State::Running,
                vec![
                    (41, "python3 -m http.server 8000".to_owned()),
                    (57, "sh -c 'cargo build --release'".to_owned()),
                ],
            ),
            standing(
                "profile.work",
                "work",
                Driver::Process,
                "this machine's programs",
                State::Stopped,
                Vec::new(),
            ),
        ])
    }

    fn under_way(&self) -> Vec<String> {
        vec!["fetching the image debian:bookworm-slim: 12 MB of 29 MB".to_owned()]
    }

    async fn stop(&self, _: &str) -> Result<(), SandboxError> {
        Ok(())
    }

    async fn reap(&self, _: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        Ok(Vec::new())
    }
}

impl Logbook for Computers {
    fn of(&self, sandbox: &str) -> Vec<Ran> {
        let ran = |seconds, command: &str, output: &str, failed| Ran {
            at: self.ago(seconds),
            took: Duration::from_millis(1_240),
            command: command.to_owned(),
            output: output.to_owned(),
            failed,
        };
        if sandbox != "profile:default" {
            return Vec::new();
        }
        vec![
            ran(
                400,
                "ls -la out",
                "total 24\n-rw-r--r-- 1 root root 20480 Nov 30 10:12 chart.png",
                false,
            ),
            ran(
                120,
                "cargo test",
                "test result: FAILED. 41 passed; 1 failed\n[exit code 101]",
                true,
            ),
            ran(
                40,
                "python3 -m http.server 8000",
                "[goes on in the background as p1]",
                false,
            ),
        ]
    }
}
