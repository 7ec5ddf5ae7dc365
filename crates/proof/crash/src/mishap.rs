//! What happens to the process, and what the platform does meanwhile.

use std::time::Duration;

use testkit::telegram::{Rule, Telegram, Trouble, Weather};

use crate::speech::Kind;

/// A row of the matrix (`docs/crash-matrix.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// `C0` to `C22`.
    pub name: &'static str,
    /// What happens.
    pub mishap: Mishap,
    /// The last passage at which it may happen; the seed picks one up to it.
    pub most: u64,
}

/// What happens to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It dies at the failpoint.
    Dies,
    /// The operation at the failpoint fails.
    Fails,
    /// The code at the failpoint panics.
    Panics,
    /// It is killed while the platform has a whole request and has done nothing.
    KilledBeforeDone,
    /// It is killed while the platform has done a request and holds the answer.
    KilledBeforeAnswer,
    /// It is killed while a part waits for the end of `retry_after`.
    KilledWaiting,
    /// It is asked to stop, and stops in good order.
    Stopped,
    /// It is asked to stop, and asked again at once.
    StoppedTwice,
}

/// Every row that this build can show.
pub(crate) const ROWS: [Row; 20] = {
    const fn row(name: &'static str, mishap: Mishap, most: u64) -> Row {
        Row { name, mishap, most }
    }
    use Mishap::{
        Dies, Fails, KilledBeforeAnswer, KilledBeforeDone, KilledWaiting, Panics, Stopped,
        StoppedTwice,
    };
    [
        row("C0", Dies, 4),
        row("C1", Dies, 4),
        row("C2", Dies, 3),
        row("C3", Dies, 12),
        row("C3b", Dies, 3),
        row("C4", Dies, 12),
        row("C5", Dies, 20),
        row("C6", Dies, 3),
        row("C7", KilledBeforeDone, 8),
        row("C8", KilledBeforeAnswer, 8),
        row("C9", Dies, 20),
        row("C10", Dies, 20),
        row("C11", Dies, 4),
        row("C12", KilledWaiting, 8),
        row("C14", Dies, 1),
        row("C17", Fails, 30),
        row("C20", Stopped, 10),
        row("C20-twice", StoppedTwice, 8),
        row("C22", Panics, 12),
        row("I1", Dies, 4),
    ]
};

impl Row {
    /// The row of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        ROWS.into_iter().find(|row| row.name == name)
    }

    /// What `TIDINGS_FAILPOINT` is set to for the nth passage; none for what is done from outside.
    pub(crate) fn arms(self, nth: u64) -> Option<String> {
        let name = self.name;
        match self.mishap {
            Mishap::Dies => Some(format!("{name}@{nth}")),
            Mishap::Fails => Some(format!("{name}@{nth}..{}!error", nth + 2)),
            Mishap::Panics => Some(format!("{name}@{nth}..{}!panic", nth + 1)),
            Mishap::KilledBeforeDone
            | Mishap::KilledBeforeAnswer
            | Mishap::KilledWaiting
            | Mishap::Stopped
            | Mishap::StoppedTwice => None,
        }
    }

    /// Kinds of messages without which the row can't happen; they come first.
    pub(crate) fn needs(self) -> &'static [Kind] {
        match self.name {
            "C2" | "C3b" => &[Kind::File, Kind::File, Kind::File, Kind::Heavy],
            "C6" => &[Kind::Heavy, Kind::Big, Kind::Heavy],
            "C11" => &[Kind::Carried, Kind::Big],
            "C14" => &[Kind::Refused, Kind::Refused],
            "I1" => &[Kind::Command, Kind::Command, Kind::Command, Kind::Command],
            _ => &[],
        }
    }
}

/// What the platform does to calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Nothing bad.
    Calm,
    /// Does it and closes the connection.
    AcceptThenDrop,
    /// Does it and answers 500.
    AcceptThen500,
    /// Does it and sends half of the answer.
    HalfAnswer,
    /// Reads half of a request and resets.
    HalfRequest,
    /// Answers 429, in header and body or in one of them.
    Floods,
    /// Answers a few bytes at a time.
    Trickles,
    /// Hands updates out twice, again, and the wrong way round.
    ConfusedUpdates,
    /// A little of everything.
    Rough,
}

impl Behaviour {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Calm,
        Self::AcceptThenDrop,
        Self::AcceptThen500,
        Self::HalfAnswer,
        Self::HalfRequest,
        Self::Floods,
        Self::Trickles,
        Self::ConfusedUpdates,
        Self::Rough,
    ];

    /// Its name on the command line and in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::AcceptThenDrop => "accept-then-drop",
            Self::AcceptThen500 => "accept-then-500",
            Self::HalfAnswer => "half-answer",
            Self::HalfRequest => "half-request",
            Self::Floods => "floods",
            Self::Trickles => "trickles",
            Self::ConfusedUpdates => "confused-updates",
            Self::Rough => "rough",
        }
    }

    pub(crate) fn begin(self, fake: &Telegram, seed: u64) {
        let calm = Weather {
            seed,
            dropped: 0,
            refused: 0,
            answer_lost: 0,
            answered_500: 0,
            answer_cut: 0,
            trickled: 0,
            flooded: 0,
            confused_updates: 0,
        };
        // Of a hundred calls, so many meet it: often enough in a short case, seldom enough that it ends.
        let often = 120;
        let weather = match self {
            Self::Calm => return,
            Self::HalfRequest => {
                for method in ["sendMessage", "sendDocument"] {
                    fake.script(Rule::on(method).nth(3).times(3), Trouble::HalfRequest);
                }
                return;
            }
            Self::AcceptThenDrop => Weather {
                answer_lost: often,
                ..calm
            },
            Self::AcceptThen500 => Weather {
                answered_500: often,
                ..calm
            },
            Self::HalfAnswer => Weather {
                answer_cut: often,
                ..calm
            },
            Self::Floods => Weather {
                flooded: often,
                ..calm
            },
            Self::Trickles => Weather {
                trickled: 4 * often,
                ..calm
            },
            Self::ConfusedUpdates => Weather {
                confused_updates: 2 * often,
                ..calm
            },
            Self::Rough => Weather::rough(seed),
        };
        fake.weather(weather);
    }
}

/// How long a wait of the platform is that the process does not live to see.
pub(crate) const FLOOD: Duration = Duration::from_secs(4);
