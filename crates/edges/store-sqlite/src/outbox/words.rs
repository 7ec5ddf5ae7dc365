//! Closed words of the outbox as columns.

use chat::{Way, WhenUnknown};

use crate::error::Trouble;

pub(super) fn way_name(way: Way) -> &'static str {
    match way {
        Way::Direct => "direct",
        Way::Carried => "carried",
    }
}

pub(super) fn way(row: &str, name: &str) -> Result<Way, Trouble> {
    match name {
        "direct" => Ok(Way::Direct),
        "carried" => Ok(Way::Carried),
        other => Err(Trouble::unreadable(row, format!("'{other}' is not a way"))),
    }
}

pub(super) fn when_unknown_name(wish: WhenUnknown) -> &'static str {
    match wish {
        WhenUnknown::Repeat => "repeat",
        WhenUnknown::Hold => "hold",
    }
}

pub(super) fn when_unknown(row: &str, name: &str) -> Result<WhenUnknown, Trouble> {
    match name {
        "repeat" => Ok(WhenUnknown::Repeat),
        "hold" => Ok(WhenUnknown::Hold),
        other => Err(Trouble::unreadable(row, format!("'{other}' is not a wish"))),
    }
}
