//! The file, what is inherited and the defaults, laid over each other; and where each value came from.

use std::collections::BTreeMap;

use crate::Environment;
use crate::keys::ROOT;
use crate::shape::{Key, Kind};
use crate::tree::{Node, Source, Table, Value, key_text};

/// The variable that overrules `gateway.log`.
const LOG_VARIABLE: &str = "TIDINGS_LOG";

/// One effective value, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Where it stands: `profiles.work.sandbox.memory`, `routes[1].channel`.
    pub key: String,
    /// As the file would write it; a secret is its reference, never its value.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

/// All effective values: what the file says (already checked), completed.
pub(crate) fn effective(file: &Table, environment: &dyn Environment) -> Table {
    let nothing = Table::default();
    let defaults = file.table("defaults").unwrap_or(&nothing);
    let mut entries = BTreeMap::new();
    for key in ROOT {
        let own = file.node(key.name);
        let value = match (&key.kind, own.map(|node| &node.value)) {
            (Kind::Table(keys), own) => {
                let own = own.and_then(Value::as_table).unwrap_or(&nothing);
                Value::Table(complete(keys, own, &[]))
            }
            (
                Kind::Map {
                    of: Kind::Table(keys),
                    ..
                },
                own,
            ) => {
                let own = own.and_then(Value::as_table).unwrap_or(&nothing);
                let above: &[&Table] = if key.name == "profiles" {
                    &[defaults]
                } else {
                    &[]
                };
                Value::Table(members(key.name, keys, own, above))
            }
            (Kind::List(Kind::Table(keys)), Some(Value::List(items))) => Value::List(
                items
                    .iter()
                    .map(|item| completed_item(keys, item))
                    .collect(),
            ),
            (_, Some(other)) => other.clone(),
            (_, None) => continue,
        };
        let (at, source) = own.map_or((0, Source::Default), |node| (node.at, node.source));
        entries.insert(key.name.to_owned(), Node { value, at, source });
    }
    let mut root = Table { entries, at: 0 };
    overrule_log(&mut root, environment);
    root
}

fn members(name: &str, keys: &'static [Key], own: &Table, above: &[&Table]) -> Table {
    let mut entries: BTreeMap<String, Node> = own
        .entries
        .iter()
        .filter_map(|(name, node)| {
            let value = Value::Table(complete(keys, node.table()?, above));
            Some((
                name.clone(),
                Node {
                    value,
                    at: node.at,
                    source: node.source,
                },
            ))
        })
        .collect();
    if name == "profiles" && entries.is_empty() {
        let value = Value::Table(complete(keys, &Table::default(), above));
        let node = Node {
            value,
            at: 0,
            source: Source::Default,
        };
        entries.insert("default".to_owned(), node);
    }
    Table {
        entries,
        at: own.at,
    }
}

fn completed_item(keys: &'static [Key], item: &Node) -> Node {
    let nothing = Table::default();
    let own = item.table().unwrap_or(&nothing);
    Node {
        value: Value::Table(complete(keys, own, &[])),
        at: item.at,
        source: item.source,
    }
}

/// The table with everything that it inherits and all defaults. `above` is inherited from, the nearest first.
fn complete(keys: &'static [Key], own: &Table, above: &[&Table]) -> Table {
    let nothing = Table::default();
    let mut entries = BTreeMap::new();
    for key in keys {
        let inner = own.table(key.name).unwrap_or(&nothing);
        let inner_above: Vec<&Table> = above
            .iter()
            .filter_map(|table| table.table(key.name))
            .collect();
        let node = match &key.kind {
            Kind::Table(keys) => Some(wrap(
                complete(keys, inner, &inner_above),
                own.node(key.name),
            )),
            Kind::Map {
                of: Kind::Table(keys),
                ..
            } => Some(wrap(tables(keys, inner, &inner_above), own.node(key.name))),
            Kind::Map { .. } => Some(wrap(union(inner, &inner_above), own.node(key.name))),
            Kind::Text(_)
            | Kind::Choice(_)
            | Kind::Flag
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Size { .. }
            | Kind::Id(_)
            | Kind::Reference
            | Kind::List(_) => own
                .node(key.name)
                .cloned()
                .or_else(|| {
                    above
                        .iter()
                        .find_map(|table| table.node(key.name))
                        .map(inherited)
                })
                .or_else(|| {
                    key.preset.value().map(|value| Node {
                        value,
                        at: 0,
                        source: Source::Default,
                    })
                })
                .map(|node| completed_list(&key.kind, node)),
        };
        if let Some(node) = node {
            entries.insert(key.name.to_owned(), node);
        }
    }
    Table {
        entries,
        at: own.at,
    }
}

/// A list of tables has its defaults in each of them.
fn completed_list(kind: &Kind, node: Node) -> Node {
    match (kind, &node.value) {
        (Kind::List(Kind::Table(keys)), Value::List(items)) => Node {
            value: Value::List(
                items
                    .iter()
                    .map(|item| completed_item(keys, item))
                    .collect(),
            ),
            ..node
        },
        _ => node,
    }
}

/// Every table that is named here or above, each merged key by key.
fn tables(keys: &'static [Key], own: &Table, above: &[&Table]) -> Table {
    let nothing = Table::default();
    let mut entries = BTreeMap::new();
    let written = own.entries.iter().map(|(name, node)| (name, node.clone()));
    let further = above.iter().flat_map(|table| &table.entries);
    for (name, node) in written.chain(further.map(|(name, node)| (name, inherited(node)))) {
        if entries.contains_key(name) {
            continue;
        }
        let inner_above: Vec<&Table> = above.iter().filter_map(|table| table.table(name)).collect();
        let inner = own.table(name).unwrap_or(&nothing);
        let value = Value::Table(complete(keys, inner, &inner_above));
        entries.insert(name.clone(), Node { value, ..node });
    }
    Table {
        entries,
        at: own.at,
    }
}

fn union(own: &Table, above: &[&Table]) -> Table {
    let mut entries = own.entries.clone();
    for (name, node) in above.iter().flat_map(|table| &table.entries) {
        entries
            .entry(name.clone())
            .or_insert_with(|| inherited(node));
    }
    Table {
        entries,
        at: own.at,
    }
}

fn wrap(table: Table, own: Option<&Node>) -> Node {
    let (at, source) = own.map_or((0, Source::Default), |node| (node.at, node.source));
    Node {
        value: Value::Table(table),
        at,
        source,
    }
}

fn inherited(node: &Node) -> Node {
    let source = match node.source {
        Source::File { line } => Source::Inherited { line },
        other @ (Source::Default | Source::Inherited { .. } | Source::Environment) => other,
    };
    let value = match &node.value {
        Value::List(items) => Value::List(items.iter().map(inherited).collect()),
        other @ (Value::Text(_)
        | Value::Integer(_)
        | Value::Number(_)
        | Value::Flag(_)
        | Value::Table(_)) => other.clone(),
    };
    Node {
        value,
        at: node.at,
        source,
    }
}

fn overrule_log(root: &mut Table, environment: &dyn Environment) {
    let said = environment
        .get(LOG_VARIABLE)
        .filter(|text| !text.trim().is_empty());
    if let (
        Some(said),
        Some(Node {
            value: Value::Table(gateway),
            ..
        }),
    ) = (said, root.entries.get_mut("gateway"))
    {
        let node = Node {
            value: Value::Text(said),
            at: 0,
            source: Source::Environment,
        };
        gateway.entries.insert("log".to_owned(), node);
    }
}

/// All effective values in the order of their keys.
pub(crate) fn provenance(root: &Table) -> Vec<Provenance> {
    let mut all = Vec::new();
    for key in ROOT {
        if let Some(node) = root.node(key.name) {
            flatten(key.name, node, &mut all);
        }
    }
    all
}

fn flatten(path: &str, node: &Node, all: &mut Vec<Provenance>) {
    match &node.value {
        Value::Table(table) => {
            for (name, inner) in &table.entries {
                flatten(&format!("{path}.{}", key_text(name)), inner, all);
            }
        }
        Value::List(items) if path == "routes" => {
            for (n, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{}]", n + 1), item, all);
            }
        }
        Value::Text(_) | Value::Integer(_) | Value::Number(_) | Value::Flag(_) | Value::List(_) => {
            all.push(Provenance {
                key: path.to_owned(),
                value: node.value.to_string(),
                source: node.source,
            });
        }
    }
}
