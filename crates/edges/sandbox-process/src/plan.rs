//! What the driver and its launcher say to each other: plans on standard input, reports and sizes on the socket that is the
//! launcher's standard error.
//!
//! Plans may hold secrets, so none of these types can be printed.

use std::io;

use sandbox::SandboxPath;
use serde::{Deserialize, Serialize};

use crate::Protections;

/// Longest plan in bytes.
const LONGEST: u32 = 16 << 20;

/// For the stage that enters the namespaces.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outer {
    /// Keep the machine's network.
    pub(crate) host_network: bool,
}

/// For the stage that builds the walls and does the work.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inner {
    pub(crate) host_network: bool,
    pub(crate) binds: Vec<Bind>,
    /// Bytes that one process may have written to memory; none where a control group bounds all together.
    pub(crate) memory: Option<u64>,
    pub(crate) pids: u32,
    pub(crate) work: Work,
}

/// A folder of the machine that the sandbox sees.
#[derive(Serialize, Deserialize)]
pub(crate) struct Bind {
    pub(crate) source: String,
    pub(crate) at: String,
    pub(crate) access: Access,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    Write,
    Read,
    /// Readable, never captured.
    Secret,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Work {
    /// Stand, and say which walls do.
    Probe,
    /// Empty `/tmp`.
    ClearTemporary,
    Exec {
        command: String,
        directory: String,
        env: Vec<(String, String)>,
        /// Rows and columns of its terminal, if it has one.
        terminal: Option<(u16, u16)>,
        /// Hand a listener over, and tell the command to use what answers there.
        egress: bool,
    },
    Read {
        path: String,
        offset: u64,
        most: usize,
        /// As in [`Work::Capture`].
        device: u64,
    },
    /// The bytes follow the plan on standard input.
    Write {
        path: String,
        length: usize,
        create_new: bool,
    },
    List {
        path: String,
        most: usize,
    },
    Capture {
        path: String,
        limit: u64,
        /// The file system of the sandbox's own folders, by its device's number. A file on it is handed over as it is opened;
        /// the bytes of any other come through standard output.
        device: u64,
        /// Places from which nothing is sent, on top of those that every sandbox has.
        secret: Vec<SandboxPath>,
    },
}

/// How a stage or its work ended; one line of JSON on standard error each. Bytes go to standard output.
#[derive(Serialize, Deserialize)]
pub(crate) enum Report {
    /// A wall that must stand doesn't.
    NoFloor {
        step: String,
        error: String,
    },
    /// Something else on the way failed.
    Failed(String),
    /// A file could not be read, written or listed.
    File(String),
    Standing(Protections),
    Cleared,
    /// A socket that listens inside comes with this line.
    Listening,
    /// The command runs.
    Started,
    Ended {
        code: i32,
        /// Processes were left, and ended with the command.
        left_running: bool,
    },
    Read {
        size: u64,
    },
    Written,
    Listed {
        entries: Vec<Listed>,
        left_out: usize,
    },
    Captured {
        size: u64,
    },
    /// A file that may be read comes with this line, opened.
    Opened(Handed),
    Refused(Refused),
}

/// Which file is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handed {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    Folder,
    File,
    Other,
}

/// Why a file was not captured; the driver adds the path that was asked for.
#[derive(Serialize, Deserialize)]
pub(crate) enum Refused {
    Missing { near: Vec<String> },
    NotAFile { kind: Special },
    Forbidden { place: String },
    HardLink,
    TooLarge,
    Unreadable,
    Unstable,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Special {
    Directory,
    Fifo,
    Socket,
    Device,
}

/// A plan, framed: four bytes of length (big end first), then JSON.
pub(crate) fn frame<T: Serialize>(plan: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(plan)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length <= LONGEST)
        .ok_or_else(|| io::Error::other("the command is too long"))?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(&body);
    Ok(framed)
}

/// Reads one framed plan and not a byte more: what follows belongs to somebody else.
pub(crate) fn unframe<T: for<'a> Deserialize<'a>>(from: &mut impl io::Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other("the plan is too long"));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// A terminal's size on the wire: rows, then columns, two bytes each, the big end first.
pub(crate) mod size {
    use sandbox::Window;

    /// How many bytes it takes.
    pub(crate) const LENGTH: usize = 4;

    pub(crate) fn told(window: Window) -> [u8; LENGTH] {
        let [a, b] = window.rows.to_be_bytes();
        let [c, d] = window.columns.to_be_bytes();
        [a, b, c, d]
    }

    pub(crate) fn heard([a, b, c, d]: [u8; LENGTH]) -> Window {
        Window {
            rows: u16::from_be_bytes([a, b]),
            columns: u16::from_be_bytes([c, d]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{Outer, frame, unframe};

    #[test]
    fn a_plan_leaves_the_commands_own_input_untouched() {
        let mut stream = frame(&Outer { host_network: true }).unwrap();
        stream.extend_from_slice(b"the command's input");
        let mut from = stream.as_slice();
        let plan: Outer = unframe(&mut from).unwrap();
        assert!(plan.host_network);
        let mut rest = String::new();
        from.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "the command's input");
    }

    #[test]
    fn a_terminals_size_arrives_as_it_was_told() {
        let window = sandbox::Window {
            rows: 50,
            columns: 300,
        };
        assert_eq!(super::size::heard(super::size::told(window)), window);
    }

    #[test]
    fn a_torn_or_endless_plan_is_an_error_and_no_allocation() {
        assert!(unframe::<Outer>(&mut [0xff; 4].as_slice()).is_err());
        assert!(unframe::<Outer>(&mut [0, 0, 0, 9, b'{'].as_slice()).is_err());
        assert!(unframe::<Outer>(&mut [0, 0].as_slice()).is_err());
    }
}
