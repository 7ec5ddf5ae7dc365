//! The file after its check: only what the table of keys allows, each value with its place.

use std::collections::BTreeMap;
use std::fmt;

/// Where an effective value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The file says nothing.
    Default,
    /// The section itself, on this line.
    File {
        /// Counted from 1.
        line: usize,
    },
    /// `[defaults]`, on this line.
    Inherited {
        /// Counted from 1.
        line: usize,
    },
    /// A variable of the environment overrules the file.
    Environment,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::File { line } => write!(out, "line {line}"),
            Self::Inherited { line } => write!(out, "[defaults], line {line}"),
            Self::Environment => out.write_str("environment"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
}

impl Value {
    pub(crate) fn as_table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Text(_) | Self::Integer(_) | Self::Number(_) | Self::Flag(_) | Self::List(_) => {
                None
            }
        }
    }
}

impl fmt::Display for Value {
    /// As the file would write it on one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(out, "{}", toml::Value::String(text.clone())),
            Self::Integer(number) => write!(out, "{number}"),
            Self::Number(number) => write!(out, "{number:?}"),
            Self::Flag(flag) => write!(out, "{flag}"),
            Self::List(items) => {
                out.write_str("[")?;
                for (n, item) in items.iter().enumerate() {
                    let comma = if n == 0 { "" } else { ", " };
                    write!(out, "{comma}{}", item.value)?;
                }
                out.write_str("]")
            }
            Self::Table(table) => {
                out.write_str("{")?;
                for (n, (name, node)) in table.entries.iter().enumerate() {
                    let comma = if n == 0 { "" } else { "," };
                    write!(out, "{comma} {} = {}", key_text(name), node.value)?;
                }
                out.write_str(" }")
            }
        }
    }
}

/// A key as the file would write it: bare where it can be, else quoted.
pub(crate) fn key_text(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if bare {
        name.to_owned()
    } else {
        toml::Value::String(name.to_owned()).to_string()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// Offset in the file; 0 if the value is not from the file.
    pub(crate) at: usize,
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) entries: BTreeMap<String, Node>,
    pub(crate) at: usize,
}

impl Table {
    pub(crate) fn node(&self, key: &str) -> Option<&Node> {
        self.entries.get(key)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.node(key).and_then(Node::text)
    }

    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        match self.node(key)?.value {
            Value::Integer(number) => Some(number),
            Value::Text(_)
            | Value::Number(_)
            | Value::Flag(_)
            | Value::List(_)
            | Value::Table(_) => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.node(key)?.value {
            Value::Number(number) => Some(number),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Flag(_)
            | Value::List(_)
            | Value::Table(_) => None,
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.node(key)?.value {
            Value::Flag(flag) => Some(flag),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Number(_)
            | Value::List(_)
            | Value::Table(_) => None,
        }
    }

    pub(crate) fn list(&self, key: &str) -> &[Node] {
        match self.node(key).map(|node| &node.value) {
            Some(Value::List(items)) => items,
            Some(
                Value::Text(_)
                | Value::Integer(_)
                | Value::Number(_)
                | Value::Flag(_)
                | Value::Table(_),
            )
            | None => &[],
        }
    }

    pub(crate) fn table(&self, key: &str) -> Option<&Self> {
        self.node(key).and_then(Node::table)
    }

    pub(crate) fn tables(&self, key: &str) -> impl Iterator<Item = (&String, &Self)> {
        self.table(key)
            .into_iter()
            .flat_map(|table| &table.entries)
            .filter_map(|(name, node)| Some((name, node.table()?)))
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        self.list(key)
            .iter()
            .filter_map(|node| node.text().map(str::to_owned))
            .collect()
    }
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Integer(_)
            | Value::Number(_)
            | Value::Flag(_)
            | Value::List(_)
            | Value::Table(_) => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        self.value.as_table()
    }
}
