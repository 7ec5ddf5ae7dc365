//! What is shown: an answer while it grows, what tools do, questions, and files that came.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::door::Door;
use super::keep::save;
use super::markdown::Pen;
use crate::exit::Failure;
use crate::outbox::Paint;
use crate::printable::printable;

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// A person who types.
    Person,
    /// Whoever reads the answer of one message.
    Once,
    /// A program that reads JSON at the end.
    Nobody,
}

/// A question that waits for a choice.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) entry: i64,
    /// Label and token.
    pub(crate) choices: Vec<(String, String)>,
}

/// The terminal.
pub(crate) struct Screen {
    looks: Looks,
    paint: Paint,
    folder: PathBuf,
    pen: Pen,
    /// What was drawn of the answer that grows, in whole lines.
    drawn: String,
    /// Entries that were shown.
    seen: BTreeSet<i64>,
    /// Steps that were shown.
    steps: BTreeSet<String>,
    asked: Option<Asked>,
    text: String,
    files: Vec<Value>,
}

impl Screen {
    fn new(looks: Looks, paint: Paint, folder: &Path) -> Self {
        Self {
            looks,
            paint,
            folder: folder.to_owned(),
            pen: Pen::default(),
            drawn: String::new(),
            seen: BTreeSet::new(),
            steps: BTreeSet::new(),
            asked: None,
            text: String::new(),
            files: Vec::new(),
        }
    }

    /// For a person.
    pub(crate) fn person(paint: Paint, folder: &Path) -> Self {
        Self::new(Looks::Person, paint, folder)
    }

    /// For one answer.
    pub(crate) fn once(paint: Paint, folder: &Path) -> Self {
        Self::new(Looks::Once, paint, folder)
    }

    /// Shows nothing.
    pub(crate) fn silent(folder: &Path) -> Self {
        Self::new(Looks::Nobody, Paint::Plain, folder)
    }

    /// All that was said.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// All that was saved.
    pub(crate) fn files(&self) -> &[Value] {
        &self.files
    }

    pub(crate) fn greet(&self, profile: &str, own: bool) -> Result<(), Failure> {
        let whose = if own {
            "; the gateway runs as long as this does, without chat services"
        } else {
            ""
        };
        self.note(&format!(
            "You talk with {}{whose}. /help lists commands, ^C stops a turn, ^D leaves.",
            printable(profile)
        ))
    }

    pub(crate) fn prompt(&self) -> Result<(), Failure> {
        print(&format!("{} ", self.paint.strong("›")))
    }

    /// A line beside the conversation.
    pub(crate) fn note(&self, text: &str) -> Result<(), Failure> {
        match self.looks {
            Looks::Person => print(&format!("{}\n", self.paint.faint(&printable(text)))),
            Looks::Once if std::io::stderr().is_terminal() => {
                eprintln!("{}", self.paint.faint(&printable(text)));
                Ok(())
            }
            Looks::Once | Looks::Nobody => Ok(()),
        }
    }

    pub(crate) fn trouble(&self, text: &str) -> Result<(), Failure> {
        print(&format!("{}\n", self.paint.care(&printable(text))))
    }

    fn not_saved(&self, reason: &str) -> Result<(), Failure> {
        if self.looks == Looks::Person {
            return self.trouble(reason);
        }
        eprintln!("tidings: {}", printable(reason));
        Ok(())
    }

    /// The turn is over.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        self.asked = None;
        self.steps.clear();
        match self.looks {
            Looks::Person => print("\n"),
            Looks::Once | Looks::Nobody => Ok(()),
        }
    }

    /// Something moved.
    pub(crate) async fn event(
        &mut self,
        door: &Door,
        kind: &str,
        data: &Value,
    ) -> Result<(), Failure> {
        match kind {
            "entry" => self.entry(door, data).await,
            "preview" => self.grow(data["markdown"].as_str().unwrap_or_default()),
            "activity" => {
                let step = &data["step"];
                match step.is_object() {
                    true => self.step(step),
                    false => Ok(()),
                }
            }
            "questions" => {
                let mut all = data["questions"].as_array().into_iter().flatten();
                // It was answered elsewhere, or its time is over.
                if !all.any(|one| one["outcome"].is_null()) {
                    self.asked = None;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn streams(&self) -> bool {
        match self.looks {
            Looks::Person => true,
            Looks::Once => std::io::stdout().is_terminal(),
            Looks::Nobody => false,
        }
    }

    /// The answer so far: whole lines that are new are drawn.
    fn grow(&mut self, markdown: &str) -> Result<(), Failure> {
        if !self.streams() {
            return Ok(());
        }
        // An answer that began anew is drawn once it is final.
        let Some(fresh) = markdown.strip_prefix(self.drawn.as_str()) else {
            return Ok(());
        };
        let Some((lines, _unfinished)) = fresh.rsplit_once('\n') else {
            return Ok(());
        };
        let lines = format!("{lines}\n");
        self.draw(&lines)?;
        self.drawn.push_str(&lines);
        Ok(())
    }

    fn draw(&mut self, markdown: &str) -> Result<(), Failure> {
        let mut text = String::new();
        for line in markdown.lines() {
            text.push_str(&self.pen.line(line, self.paint));
            text.push('\n');
        }
        print(&text)
    }

    fn step(&mut self, step: &Value) -> Result<(), Failure> {
        let id = step["id"].as_str().unwrap_or_default().to_owned();
        let tool = step["tool"].as_str().unwrap_or_default();
        let detail = step["detail"].as_str().unwrap_or_default();
        let first = detail.lines().next().unwrap_or_default();
        let failed = step["failed"].as_bool() == Some(true);
        if self.steps.insert(id) {
            self.note(&format!("⚙ {tool} {first}"))?;
        }
        if failed {
            let result = step["result"].as_str().unwrap_or_default();
            let first = result.lines().next().unwrap_or_default();
            self.note(&format!("  ✗ {first}"))?;
        }
        Ok(())
    }

    /// What became visible for good.
    async fn entry(&mut self, door: &Door, entry: &Value) -> Result<(), Failure> {
        let id = entry["id"].as_i64().unwrap_or_default();
        if !self.seen.insert(id) || entry["author"] != "agent" {
            return Ok(());
        }
        if let Some(markdown) = entry["markdown"].as_str() {
            self.said(markdown)?;
        }
        for file in entry["files"].as_array().into_iter().flatten() {
            self.came(door, file).await?;
        }
        self.ask(id, &entry["question"])
    }

    fn said(&mut self, markdown: &str) -> Result<(), Failure> {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(markdown);
        let drawn = std::mem::take(&mut self.drawn);
        if self.looks == Looks::Nobody {
            return Ok(());
        }
        let whole = format!("{}\n", markdown.trim_end());
        let rest = match whole.strip_prefix(drawn.as_str()) {
            Some(rest) => rest.to_owned(),
            // It became another text than the one that grew.
            None => {
                self.pen = Pen::default();
                format!("\n{whole}")
            }
        };
        self.draw(&rest)?;
        self.pen = Pen::default();
        Ok(())
    }

    async fn came(&mut self, door: &Door, file: &Value) -> Result<(), Failure> {
        let name = file["name"].as_str().unwrap_or("file");
        let url = file["url"].as_str().unwrap_or_default();
        let size = file["size"].as_u64().unwrap_or_default();
        let path = match save(door, &self.folder, name, url).await {
            Ok(path) => path,
            // One file that can't be saved is one file.
            Err(Failure::Failed(reason) | Failure::Configuration(reason)) => {
                self.files
                    .push(json!({ "name": name, "path": null, "size": size, "error": reason }));
                return self.not_saved(&reason);
            }
        };
        let shown = path.display().to_string();
        self.files
            .push(json!({ "name": name, "path": shown, "size": size }));
        match self.looks {
            Looks::Nobody => Ok(()),
            Looks::Person | Looks::Once => print(&format!(
                "{}\n",
                self.paint.good(&format!(
                    "saved {} ({})",
                    printable(&shown),
                    sandbox::size_text(size)
                ))
            )),
        }
    }

    fn ask(&mut self, entry: i64, question: &Value) -> Result<(), Failure> {
        let choices: Vec<(String, String)> = question["choices"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|choice| {
                let label = choice["label"].as_str()?.to_owned();
                Some((label, choice["token"].as_str()?.to_owned()))
            })
            .collect();
        if !question.is_object() {
            return Ok(());
        }
        if self.looks == Looks::Person {
            for (number, (label, _)) in choices.iter().enumerate() {
                print(&format!("  {} {}\n", number + 1, printable(label)))?;
            }
        }
        self.asked = Some(Asked { entry, choices });
        Ok(())
    }

    /// The choice that a typed number or label means, if a question waits.
    pub(crate) fn chosen(&mut self, line: &str) -> Option<(i64, String)> {
        let asked = self.asked.as_ref()?;
        let line = line.trim();
        let by_number = line
            .parse::<usize>()
            .ok()
            .and_then(|number| asked.choices.get(number.checked_sub(1)?));
        let by_label = || {
            let mut all = asked.choices.iter();
            all.find(|(label, _)| label.eq_ignore_ascii_case(line))
        };
        let (_, token) = by_number.or_else(by_label)?;
        let chosen = (asked.entry, token.clone());
        self.asked = None;
        Some(chosen)
    }

    /// A question that nobody here can answer.
    pub(crate) fn question_for_nobody(&mut self) -> Option<Asked> {
        match self.looks {
            Looks::Person => None,
            Looks::Once | Looks::Nobody => self.asked.take(),
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("standard output is closed")?;
    Ok(())
}
