//! The file against the table of keys: unknown keys, wrong types, bad values, missing keys. All of them at once.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::keys::ROOT;
use crate::lines::Lines;
use crate::nearest::{hint, shown};
use crate::problem::{Problem, Section, Weight};
use crate::reference::Reference;
use crate::rule;
use crate::shape::{Context, Key, Kind};
use crate::tree::{Node, Source, Table, Value};

/// Problems on their way out, in the order in which they were found.
pub(crate) struct Findings<'a> {
    pub(crate) lines: Lines<'a>,
    pub(crate) problems: Vec<Problem>,
}

impl Findings<'_> {
    pub(crate) fn add(&mut self, section: &Section, at: usize, weight: Weight, message: String) {
        let (line, column) = self.lines.place(at);
        let problem = Problem {
            section: section.clone(),
            line,
            column,
            message,
            weight,
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// A value that can't stand: it disables a provider, a profile or a channel, and stops everything elsewhere.
    pub(crate) fn bad_value(&mut self, section: &Section, at: usize, message: String) {
        let weight = match section {
            Section::Provider(_) | Section::Profile(_) | Section::Channel(_) => Weight::Disables,
            Section::File
            | Section::Gateway
            | Section::Retention
            | Section::Defaults
            | Section::Route(_) => Weight::Fatal,
        };
        self.add(section, at, weight, message);
    }

    pub(crate) fn is_disabled(&self, section: &Section) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.section == *section && !problem.is_warning())
    }
}

/// Checks the whole file. What was refused is not in the answer.
pub(crate) fn check(
    root: &Spanned<DeTable<'_>>,
    context: &Context,
    findings: &mut Findings<'_>,
) -> Table {
    let mut check = Check {
        context,
        findings,
        section: Section::File,
    };
    check.table(ROOT, root.get_ref(), 0, "")
}

struct Check<'a, 'text> {
    context: &'a Context,
    findings: &'a mut Findings<'text>,
    section: Section,
}

impl Check<'_, '_> {
    fn fatal(&mut self, at: usize, message: String) {
        let section = self.section.clone();
        self.findings.add(&section, at, Weight::Fatal, message);
    }

    fn bad(&mut self, at: usize, message: String) {
        let section = self.section.clone();
        self.findings.bad_value(&section, at, message);
    }

    fn table(&mut self, keys: &'static [Key], raw: &DeTable<'_>, at: usize, path: &str) -> Table {
        let mut entries = BTreeMap::new();
        for (name, value) in raw {
            let Some(key) = keys.iter().find(|key| key.name == name.get_ref().as_ref()) else {
                let hint = hint(name.get_ref(), keys.iter().map(|key| key.name));
                let word = shown(name.get_ref());
                self.fatal(name.span().start, format!("unknown key '{word}'{hint}"));
                continue;
            };
            let top = self.section == Section::File;
            if top {
                self.section = match key.name {
                    "gateway" => Section::Gateway,
                    "retention" => Section::Retention,
                    "defaults" => Section::Defaults,
                    _ => Section::File,
                };
            }
            let inner = join(path, key.name);
            if let Some(node) = self.node(&key.kind, &inner, value) {
                self.warn_if_dormant(key, &node);
                entries.insert(key.name.to_owned(), node);
            }
            if top {
                self.section = Section::File;
            }
        }
        for key in keys {
            let written = raw
                .iter()
                .any(|(name, _)| name.get_ref().as_ref() == key.name);
            if key.required && !written {
                let place = match &self.section {
                    route @ Section::Route(_) => route.to_string(),
                    Section::File
                    | Section::Gateway
                    | Section::Retention
                    | Section::Defaults
                    | Section::Provider(_)
                    | Section::Profile(_)
                    | Section::Channel(_) => path.to_owned(),
                };
                self.bad(at, format!("{place} needs the key '{}'", key.name));
            }
        }
        Table { entries, at }
    }

    fn warn_if_dormant(&mut self, key: &Key, node: &Node) {
        if let Some(instead) = key.dormant
            && key.preset.value().as_ref() != Some(&node.value)
        {
            let section = self.section.clone();
            let message = format!(
                "'{}' is accepted, but not in force in this version: {instead}",
                key.name
            );
            self.findings
                .add(&section, node.at, Weight::Warning, message);
        }
    }

    fn node(
        &mut self,
        kind: &'static Kind,
        path: &str,
        raw: &Spanned<DeValue<'_>>,
    ) -> Option<Node> {
        let at = raw.span().start;
        let value = self.value(kind, path, raw)?;
        let source = Source::File {
            line: self.findings.lines.line(at),
        };
        Some(Node { value, at, source })
    }

    fn value(
        &mut self,
        kind: &'static Kind,
        path: &str,
        raw: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let at = raw.span().start;
        match (kind, raw.get_ref()) {
            (Kind::Table(keys), DeValue::Table(table)) => {
                Some(Value::Table(self.table(keys, table, at, path)))
            }
            (Kind::Map { of, name, .. }, DeValue::Table(table)) => {
                Some(Value::Table(self.map(of, *name, table, at, path)))
            }
            (Kind::List(of), DeValue::Array(items)) => {
                Some(Value::List(self.list(of, items.iter(), path)))
            }
            (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Kind::Table(_) | Kind::Map { .. } | Kind::List(_) | Kind::Flag, other) => {
                self.wrong_type(at, path, kind, other);
                None
            }
            (scalar, other) => match scalar_value(scalar, path, other, self.context) {
                Ok(value) => Some(value),
                Err(Refused::Type) => {
                    self.wrong_type(at, path, kind, other);
                    None
                }
                Err(Refused::Value(message)) => {
                    self.bad(at, format!("'{}' {message}", last(path)));
                    None
                }
            },
        }
    }

    fn wrong_type(&mut self, at: usize, path: &str, kind: &Kind, found: &DeValue<'_>) {
        let message = format!(
            "'{}' must be {}, not {}",
            last(path),
            wanted(kind),
            type_name(found)
        );
        self.fatal(at, message);
    }

    fn map(
        &mut self,
        of: &'static Kind,
        name_rule: rule::Rule,
        raw: &DeTable<'_>,
        at: usize,
        path: &str,
    ) -> Table {
        let mut entries = BTreeMap::new();
        for (name, value) in raw {
            let before = self.section.clone();
            let owned = name.get_ref().to_string();
            match path {
                "providers" => self.section = Section::Provider(owned.clone()),
                "profiles" => self.section = Section::Profile(owned.clone()),
                "channels" => self.section = Section::Channel(owned.clone()),
                _ => {}
            }
            if let Err(message) = name_rule(&owned, self.context) {
                self.fatal(name.span().start, format!("'{}' {message}", shown(&owned)));
            } else if let Some(node) = self.node(of, &join(path, &owned), value) {
                entries.insert(owned, node);
            }
            self.section = before;
        }
        Table { entries, at }
    }

    fn list<'i>(
        &mut self,
        of: &'static Kind,
        items: impl Iterator<Item = &'i Spanned<DeValue<'i>>>,
        path: &str,
    ) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (n, item) in items.enumerate() {
            let before = self.section.clone();
            if path == "routes" {
                self.section = Section::Route(n + 1);
            }
            nodes.extend(self.node(of, path, item));
            self.section = before;
        }
        nodes
    }
}

enum Refused {
    Type,
    Value(String),
}

fn scalar_value(
    kind: &Kind,
    path: &str,
    raw: &DeValue<'_>,
    context: &Context,
) -> Result<Value, Refused> {
    match (kind, raw) {
        (Kind::Text(rule), DeValue::String(text)) => rule(text, context)
            .map(|()| Value::Text(text.to_string()))
            .map_err(Refused::Value),
        (Kind::Choice(names), DeValue::String(text)) => {
            if names.contains(&text.as_ref()) {
                Ok(Value::Text(text.to_string()))
            } else {
                let hint = hint(text, names.iter().copied());
                Err(Refused::Value(format!("can't be '{}'{hint}", shown(text))))
            }
        }
        (Kind::Integer { least, most }, DeValue::Integer(number)) => integer(number)
            .filter(|number| (least..=most).contains(&number))
            .map(Value::Integer)
            .ok_or_else(|| Refused::Value(format!("must be from {least} to {most}"))),
        (Kind::Number { floor, most }, DeValue::Integer(_) | DeValue::Float(_)) => number(raw)
            .filter(|number| floor.admits(*number) && number <= most)
            .map(Value::Number)
            .ok_or_else(|| Refused::Value(format!("must be {}", floor.range(*most)))),
        (Kind::Size { least, most }, DeValue::Integer(_) | DeValue::String(_)) => {
            let bytes = raw
                .as_integer()
                .map_or_else(|| raw.as_str().and_then(rule::size), integer);
            bytes
                .filter(|bytes| (least..=most).contains(&bytes))
                .map(Value::Integer)
                .ok_or_else(|| {
                    Refused::Value(format!(
                        "must be bytes, or a text such as \"512m\" or \"2g\", from {least} to {most} bytes"
                    ))
                })
        }
        (Kind::Id(rule), DeValue::Integer(number)) => integer(number)
            .ok_or_else(|| "must be an id, a whole number".to_owned())
            .and_then(|number| rule.number(number))
            .map(Value::Text)
            .map_err(Refused::Value),
        (Kind::Id(rule), DeValue::String(text)) => {
            rule.text(text).map(Value::Text).map_err(Refused::Value)
        }
        (Kind::Reference, DeValue::String(text)) => Reference::parse(text, &example(path))
            .map(|_reference| Value::Text(text.to_string()))
            .map_err(Refused::Value),
        (
            Kind::Text(_)
            | Kind::Choice(_)
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Size { .. }
            | Kind::Id(_)
            | Kind::Reference
            | Kind::Flag
            | Kind::List(_)
            | Kind::Table(_)
            | Kind::Map { .. },
            _,
        ) => Err(Refused::Type),
    }
}

/// A good variable's name for a secret: `providers.openrouter.api_key` → `OPENROUTER_API_KEY`.
fn example(path: &str) -> String {
    if path.ends_with("secret_env") {
        return "NAME".to_owned();
    }
    // Several of them: the second is as good an example as any.
    if let Some(one) = path.strip_suffix("api_keys") {
        return format!("{}_2", example(&format!("{one}api_key")));
    }
    path.split('.')
        .skip(1)
        .collect::<Vec<_>>()
        .join("_")
        .chars()
        .map(|sign| {
            if sign.is_ascii_alphanumeric() {
                sign.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect()
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn number(raw: &DeValue<'_>) -> Option<f64> {
    match raw.as_float() {
        Some(number) => number.as_str().parse().ok(),
        None => raw
            .as_integer()
            .and_then(integer)
            .map(|number| number as f64),
    }
    .filter(|number: &f64| number.is_finite())
}

fn wanted(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text(_) | Kind::Choice(_) => "a text in quotes",
        Kind::Flag => "true or false",
        Kind::Integer { .. } => "a whole number",
        Kind::Number { .. } => "a number",
        Kind::Size { .. } => "a number of bytes or a text such as \"512m\"",
        Kind::Id(_) => "an id, a whole number",
        Kind::Reference => "a text such as \"env:NAME\" or \"file:NAME\"",
        Kind::List(_) => "a list in [ ]",
        Kind::Table(_) | Kind::Map { .. } => "a table",
    }
}

fn type_name(found: &DeValue<'_>) -> &'static str {
    match found {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
