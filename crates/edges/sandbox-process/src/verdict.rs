//! What the end of a run means to whoever asked for it.

use sandbox::{Exit, SandboxError};

use crate::hearing::{Ending, lost};
use crate::plan::Report;

const DISK_FILLED: &str =
    "it was ended because it had nearly filled the disk; remove what is not needed and write less";
const STOPPED: &str = "the owner stopped the sandbox while this ran";
const LEFT_RUNNING: &str = "processes left in the background were ended with the command";
const SOME_KILLED: &str =
    "the sandbox ran out of memory while this ran, and a process in it was killed";
/// As a shell tells of what was killed.
const KILLED: i64 = 137;

/// How a command ended.
///
/// # Errors
/// [`SandboxError`] if it was not run, or nobody knows how it ended.
pub(crate) fn of_command(
    ending: Ending,
    ran_out_of_memory: bool,
) -> Result<(Exit, Option<String>), SandboxError> {
    match ending {
        Ending::Reported(Report::Ended { code, left_running }) => {
            let note = left_running.then(|| LEFT_RUNNING.to_owned());
            Ok(match (ran_out_of_memory, code) {
                (false, _) => (Exit::Code(i64::from(code)), note),
                (true, 0) => (Exit::Code(0), Some(SOME_KILLED.to_owned())),
                (true, _) => (Exit::OutOfMemory, note),
            })
        }
        Ending::TimedOut => Ok((Exit::TimedOut, None)),
        Ending::DiskFilled => Ok((Exit::Code(KILLED), Some(DISK_FILLED.to_owned()))),
        Ending::Stopped => Ok((Exit::Code(KILLED), Some(STOPPED.to_owned()))),
        // The kernel may have chosen process 1.
        Ending::Lost if ran_out_of_memory => Ok((Exit::OutOfMemory, None)),
        Ending::Reported(_) | Ending::Opened(..) | Ending::Lost => Err(of_other(ending)),
    }
}

/// Of a run that did not end as its work does.
pub(crate) fn of_other(ending: Ending) -> SandboxError {
    match ending {
        Ending::Reported(Report::File(text)) => SandboxError::File(text),
        Ending::TimedOut => SandboxError::Failed("the sandbox did not answer in time".to_owned()),
        Ending::DiskFilled => disk_filled(),
        Ending::Stopped => SandboxError::Failed(STOPPED.to_owned()),
        Ending::Reported(_) | Ending::Opened(..) | Ending::Lost => lost(),
    }
}

/// Of what was ended before the disk was full.
pub(crate) fn disk_filled() -> SandboxError {
    SandboxError::Failed(DISK_FILLED.to_owned())
}

#[cfg(test)]
mod tests {
    use sandbox::Exit;

    use super::of_command;
    use crate::hearing::Ending;
    use crate::plan::Report;

    #[test]
    fn memory_is_blamed_only_where_the_kernel_says_so_and_the_command_failed() {
        let ended = |code| {
            Ending::Reported(Report::Ended {
                code,
                left_running: false,
            })
        };
        for (ending, kernel, exit, noted) in [
            (ended(137), false, Exit::Code(137), false),
            (ended(137), true, Exit::OutOfMemory, false),
            (ended(1), true, Exit::OutOfMemory, false),
            (ended(0), true, Exit::Code(0), true),
            (Ending::Lost, true, Exit::OutOfMemory, false),
            (Ending::TimedOut, true, Exit::TimedOut, false),
            (Ending::Stopped, false, Exit::Code(137), true),
        ] {
            let (found, note) = of_command(ending, kernel).unwrap();
            assert_eq!((found, note.is_some()), (exit, noted));
        }
        assert!(of_command(Ending::Lost, false).is_err());
    }
}
