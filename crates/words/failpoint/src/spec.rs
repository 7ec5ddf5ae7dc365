//! What to arm, as somebody writes it: `C5@3`, `C17@2..4!error`, `attempt-fence!skip`.

/// What an armed point does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The process dies by SIGKILL.
    Kill,
    /// The code at the point panics.
    Panic,
    /// The operation at the point acts as if it had failed.
    Error,
    /// The protection at the point is left out.
    Skip,
}

/// One armed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) name: String,
    /// First passage that acts, from 1.
    pub(crate) first: u64,
    /// Last passage that acts.
    pub(crate) last: u64,
    pub(crate) action: Action,
}

/// Reads specs with commas between them.
pub(crate) fn parse(text: &str) -> Result<Vec<Spec>, String> {
    text.split(',').map(|one| read(one.trim())).collect()
}

fn read(text: &str) -> Result<Spec, String> {
    let (place, action) = match text.split_once('!') {
        None => (text, Action::Kill),
        Some((place, action)) => (place, action_of(action, text)?),
    };
    let (name, range) = match place.split_once('@') {
        None => (place, None),
        Some((name, range)) => (name, Some(range)),
    };
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err(format!(
            "'{text}' names no failpoint; write NAME[@N][!ACTION], such as C5@3 or C17@2..4!error"
        ));
    }
    let (first, last) = match (range, action) {
        (None, Action::Skip) => (1, u64::MAX),
        (None, Action::Kill | Action::Panic | Action::Error) => (1, 1),
        (Some(range), _) => passages(range, text)?,
    };
    Ok(Spec {
        name: name.to_owned(),
        first,
        last,
        action,
    })
}

fn action_of(word: &str, text: &str) -> Result<Action, String> {
    match word {
        "kill" => Ok(Action::Kill),
        "panic" => Ok(Action::Panic),
        "error" => Ok(Action::Error),
        "skip" => Ok(Action::Skip),
        _ => Err(format!(
            "'{text}' asks for '{word}'; a failpoint can kill, panic, error or skip"
        )),
    }
}

fn passages(range: &str, text: &str) -> Result<(u64, u64), String> {
    let number = |digits: &str| {
        digits
            .parse::<u64>()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| {
                format!("'{text}' counts no passages; write @3, @2..4 or @2.., counted from 1")
            })
    };
    let (first, last) = match range.split_once("..") {
        None => (number(range)?, number(range)?),
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if last < first {
        return Err(format!("'{text}' ends before it begins"));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::{Action, Spec, parse};

    fn spec(name: &str, first: u64, last: u64, action: Action) -> Spec {
        Spec {
            name: name.to_owned(),
            first,
            last,
            action,
        }
    }

    #[test]
    fn each_form_is_read() {
        for (text, expected) in [
            ("C5", spec("C5", 1, 1, Action::Kill)),
            ("C5@3", spec("C5", 3, 3, Action::Kill)),
            ("C22!panic", spec("C22", 1, 1, Action::Panic)),
            ("C17@2..4!error", spec("C17", 2, 4, Action::Error)),
            ("C17@2..!error", spec("C17", 2, u64::MAX, Action::Error)),
            (
                "attempt-fence!skip",
                spec("attempt-fence", 1, u64::MAX, Action::Skip),
            ),
        ] {
            assert_eq!(parse(text), Ok(vec![expected]), "{text}");
        }
        assert_eq!(
            parse("C3b, C10@2").unwrap(),
            [
                spec("C3b", 1, 1, Action::Kill),
                spec("C10", 2, 2, Action::Kill)
            ]
        );
    }

    #[test]
    fn nonsense_is_refused_with_a_way_out() {
        for (text, hint) in [
            ("", "NAME[@N][!ACTION]"),
            ("C5,", "NAME[@N][!ACTION]"),
            ("C 5", "NAME[@N][!ACTION]"),
            ("C5@0", "counted from 1"),
            ("C5@x", "counted from 1"),
            ("C5@..3", "counted from 1"),
            ("C5@4..2", "ends before it begins"),
            ("C5!explode", "kill, panic, error or skip"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(hint), "{text}: {told}");
        }
    }
}
