//! From lines to calls: a call that another thread interrupted stands in two halves.

use std::collections::HashMap;

use anyhow::{Context as _, bail};

use super::arguments;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It gave this back.
    Gave(u64),
    /// It did nothing: an error, or a signal before its first byte (it comes again as a call of its own).
    Failed,
    /// It never came back: the process ended inside it. What it was to do may have happened.
    Lost,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments, as `strace` wrote them.
    pub arguments: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// The line at which it began.
    pub begun: usize,
    /// The line at which it was done; none if it never was.
    pub done: Option<usize>,
}

impl Call {
    /// An argument.
    ///
    /// # Errors
    /// If the call has fewer.
    pub fn argument(&self, place: usize) -> anyhow::Result<&str> {
        let argument = self.arguments.get(place).map(String::as_str);
        argument.with_context(|| format!("{} has no argument {place}", self.name))
    }
}

const UNFINISHED: &str = "<unfinished ...>";

/// Reads a whole trace (`strace -f -o`), in the order in which the calls began.
///
/// # Errors
/// Names the line that can't be understood.
pub fn read(trace: &str) -> anyhow::Result<Vec<Call>> {
    let mut calls = Vec::new();
    let mut open: HashMap<&str, (String, usize)> = HashMap::new();
    for (number, line) in trace.lines().enumerate() {
        let read = one(line, number, &mut open, &mut calls);
        read.with_context(|| format!("line {} of the trace", number + 1))?;
    }
    // The process ended while these were under way.
    for (half, begun) in open.into_values() {
        calls.push(cut_off(&half, begun)?);
    }
    calls.sort_by_key(|call| call.begun);
    Ok(calls)
}

fn one<'a>(
    line: &'a str,
    number: usize,
    open: &mut HashMap<&'a str, (String, usize)>,
    calls: &mut Vec<Call>,
) -> anyhow::Result<()> {
    let (thread, text) = line.split_once(' ').context("it has no thread")?;
    anyhow::ensure!(
        !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_digit()),
        "it does not begin with a thread's number"
    );
    let text = text.trim();
    // Signals and ends of threads write nothing.
    if text.starts_with("---") || text.starts_with("+++") {
        return Ok(());
    }
    if let Some(resumed) = text.strip_prefix("<... ") {
        let (_, rest) = resumed
            .split_once(" resumed>")
            .context("it resumes nothing")?;
        let (half, begun) = open
            .remove(thread)
            .context("it resumes a call that did not begin")?;
        if rest.trim_start().starts_with(UNFINISHED) {
            calls.push(cut_off(&half, begun)?);
        } else {
            calls.push(whole(&format!("{half}{rest}"), begun, number)?);
        }
    } else if let Some((half, rest)) = text.split_once(UNFINISHED) {
        if rest.trim_start().starts_with(')') {
            calls.push(cut_off(half, number)?);
            return Ok(());
        }
        let before = open.insert(thread, (half.trim_end().to_owned(), number));
        anyhow::ensure!(before.is_none(), "a call began inside another one");
    } else {
        calls.push(whole(text, number, number)?);
    }
    Ok(())
}

fn name(text: &str) -> anyhow::Result<(&str, &str)> {
    let (name, rest) = text.split_once('(').context("it is no call")?;
    anyhow::ensure!(
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        "it is no call"
    );
    Ok((name, rest))
}

fn whole(text: &str, begun: usize, done: usize) -> anyhow::Result<Call> {
    let (name, rest) = name(text)?;
    let (arguments, rest) = arguments::split(rest)?;
    let outcome = outcome(rest)?;
    Ok(Call {
        name: name.to_owned(),
        arguments,
        outcome,
        begun,
        done: (outcome != Outcome::Lost).then_some(done),
    })
}

fn cut_off(half: &str, begun: usize) -> anyhow::Result<Call> {
    let (name, rest) = name(half)?;
    let closed = format!("{})", rest.trim_end().trim_end_matches(','));
    let (arguments, _) = arguments::split(&closed)?;
    Ok(Call {
        name: name.to_owned(),
        arguments,
        outcome: Outcome::Lost,
        begun,
        done: None,
    })
}

/// `= 3`, `= 0x1 (flags …)`, `= -1 ENOENT (…)`, `= ? ERESTARTSYS (…)`, `= ?`.
fn outcome(rest: &str) -> anyhow::Result<Outcome> {
    let value = rest
        .trim_start()
        .strip_prefix('=')
        .context("it has no result")?;
    let mut words = value.split_whitespace();
    let first = words.next().context("it has no result")?;
    if first == "?" {
        // The kernel promises the restart only where nothing was done yet.
        let restarted = words
            .next()
            .is_some_and(|word| word.starts_with("ERESTART"));
        return Ok(if restarted {
            Outcome::Failed
        } else {
            Outcome::Lost
        });
    }
    if first.starts_with('-') {
        return Ok(Outcome::Failed);
    }
    let number = match first.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => first.parse(),
    };
    match number {
        Ok(number) => Ok(Outcome::Gave(number)),
        Err(_) => bail!("'{first}' is no result"),
    }
}
