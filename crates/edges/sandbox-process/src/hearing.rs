//! What the launcher says of itself, line by line.

use std::os::fd::OwnedFd;

use sandbox::SandboxError;

use crate::control::Control;
use crate::egress::Way;
use crate::plan::{Handed, Report};
use crate::protections::advice;

/// Longest report in bytes: a listing of very many long names.
const LONGEST_REPORT: usize = 8 << 20;
const PIECE: usize = 8 << 10;

/// How a run of the launcher ended.
pub(crate) enum Ending {
    Reported(Report),
    /// A file was handed over, said to be this one.
    Opened(OwnedFd, Handed),
    TimedOut,
    /// It had nearly filled the disk.
    DiskFilled,
    /// The owner stopped the sandbox.
    Stopped,
    /// Process 1 was killed from outside.
    Lost,
}

/// What was heard so far.
pub(crate) struct Hearing {
    way: Way,
    line: Vec<u8>,
    /// What came last and was not taken yet: the line that came with it says what it is.
    handed: Option<OwnedFd>,
    file: Option<OwnedFd>,
    last: Option<Report>,
    trouble: Option<SandboxError>,
    started: bool,
    over: bool,
}

impl std::fmt::Debug for Hearing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Hearing")
            .field("started", &self.started)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

impl Hearing {
    pub(crate) fn new(way: Way) -> Self {
        Self {
            way,
            line: Vec::new(),
            handed: None,
            file: None,
            last: None,
            trouble: None,
            started: false,
            over: false,
        }
    }

    /// Has the launcher said its last word?
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Listens until the end.
    pub(crate) async fn all(&mut self, control: &Control) {
        while !self.over {
            self.more(control).await;
        }
    }

    /// Listens until the command runs, or never will.
    ///
    /// # Errors
    /// Why it does not run.
    pub(crate) async fn begun(&mut self, control: &Control) -> Result<(), SandboxError> {
        while !self.started && !self.over {
            self.more(control).await;
        }
        if self.started {
            return Ok(());
        }
        match self.ending()? {
            Ending::Reported(Report::File(text)) => Err(SandboxError::File(text)),
            Ending::Reported(_)
            | Ending::Opened(..)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Stopped
            | Ending::Lost => Err(lost()),
        }
    }

    /// Listens to a piece. May be dropped and called again.
    pub(crate) async fn more(&mut self, control: &Control) {
        let mut piece = [0; PIECE];
        let (length, handed) = control.hear(&mut piece).await.unwrap_or((0, None));
        self.over = length == 0;
        if handed.is_some() {
            self.handed = handed;
        }
        let (heard, _) = piece.split_at(length);
        self.feed(heard);
    }

    fn feed(&mut self, heard: &[u8]) {
        for byte in heard {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.take(&line);
            } else if self.line.len() < LONGEST_REPORT {
                self.line.push(*byte);
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Report>(line) {
            Ok(Report::NoFloor { step, error }) => {
                self.trouble = Some(SandboxError::Unavailable(advice(&step, &error)));
            }
            Ok(Report::Failed(text)) => self.trouble = Some(SandboxError::Failed(text)),
            Ok(Report::Started) => self.started = true,
            Ok(Report::Listening) => {
                if let Some(listener) = self.handed.take() {
                    self.way.open(listener);
                }
            }
            Ok(report @ Report::Opened(_)) => {
                self.file = self.handed.take();
                self.last = Some(report);
            }
            // The last word counts.
            Ok(report) => self.last = Some(report),
            Err(_not_a_report) => {
                tracing::warn!(line = %String::from_utf8_lossy(line), "the sandbox's launcher said")
            }
        }
    }

    /// What it came to.
    ///
    /// # Errors
    /// What kept the launcher from its work.
    pub(crate) fn ending(&mut self) -> Result<Ending, SandboxError> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take(&line);
        }
        match (self.trouble.take(), self.last.take(), self.file.take()) {
            (Some(trouble), ..) => Err(trouble),
            (None, Some(Report::Opened(which)), Some(file)) => Ok(Ending::Opened(file, which)),
            (None, Some(report), _) => Ok(Ending::Reported(report)),
            (None, None, _) => Ok(Ending::Lost),
        }
    }
}

/// Of a run that ended without a word.
pub(crate) fn lost() -> SandboxError {
    SandboxError::Failed(
        "the sandbox was ended from outside before it was done; the machine may be out of memory"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Ending, Hearing};
    use crate::egress::Way;
    use crate::plan::Report;

    proptest! {
        #[test]
        fn reports_are_the_same_wherever_the_pieces_are_cut(noise in "[^\n]{0,40}", piece in 1_usize..60, torn: bool) {
            let mut said = format!("\"Started\"\n{noise}\n\"Written\"\n{{\"Read\":{{\"size\":7}}}}");
            if !torn {
                said.push('\n');
            }
            let mut hearing = Hearing::new(Way::default());
            said.as_bytes().chunks(piece).for_each(|piece| hearing.feed(piece));
            prop_assert!(hearing.started);
            let last = hearing.ending();
            let is_last = matches!(last, Ok(Ending::Reported(Report::Read { size: 7 })));
            prop_assert!(is_last);
        }
    }

    #[test]
    fn a_file_that_is_named_and_did_not_come_is_none() {
        let mut hearing = Hearing::new(Way::default());
        hearing.feed(b"{\"Opened\":{\"device\":1,\"inode\":2}}\n");
        let ending = hearing.ending();
        assert!(matches!(ending, Ok(Ending::Reported(Report::Opened(_)))));
    }

    #[test]
    fn a_wall_that_is_missing_is_an_error_whatever_follows() {
        let mut hearing = Hearing::new(Way::default());
        hearing
            .feed(b"{\"NoFloor\":{\"step\":\"user namespace\",\"error\":\"no\"}}\n\"Written\"\n");
        assert!(matches!(
            hearing.ending(),
            Err(sandbox::SandboxError::Unavailable(_))
        ));
    }
}
