//! What models cost, and whether that is known where it is to be counted.

use std::collections::{BTreeMap, BTreeSet};

use model::{Cost, Price};

use super::Assembly;
use super::profiles::writer;
use crate::nearest::shown;
use crate::problem::{Section, Weight};
use crate::settings::{ModelChoice, Provider};
use crate::tree::{Table, key_text};

const CAPS: [&str; 3] = ["usd_per_turn", "usd_per_day", "usd_per_month"];
const PRICES: [&str; 3] = [
    "usd_per_million_input",
    "usd_per_million_output",
    "usd_per_million_cached",
];

/// Every model with a price, as `PROVIDER/MODEL`.
pub(super) fn priced(providers: &BTreeMap<String, Provider>) -> BTreeSet<String> {
    let models = providers.iter().flat_map(|(name, provider)| {
        let priced = provider.models.iter();
        priced
            .filter(|(_, model)| model.price.is_some())
            .map(move |(model, _)| format!("{name}/{model}"))
    });
    models.collect()
}

/// US dollars as an amount; at least the smallest one.
pub(super) fn cost(usd: f64) -> Cost {
    Cost(millionths(usd).max(1))
}

/// Both ends of the range are checked by the table of keys, so the nearest whole number is one.
fn millionths(usd: f64) -> u64 {
    (usd * 1_000_000.0).round().max(0.0) as u64
}

impl Assembly<'_, '_> {
    /// The price of a model. One half of it says nothing, and guessing the other would count wrong.
    pub(super) fn price(&mut self, section: &Section, model: &Table) -> Option<Price> {
        let [input, output, cached] = PRICES.map(|key| model.number(key).map(millionths));
        if let (Some(input), Some(output)) = (input, output) {
            return Some(Price {
                input,
                cached: cached.unwrap_or(input),
                output,
            });
        }
        let written = PRICES.iter().find_map(|key| model.node(key));
        if let Some(node) = written
            && !self.findings.is_disabled(section)
        {
            let missing: Vec<&str> = PRICES
                .into_iter()
                .take(2)
                .filter(|key| model.node(key).is_none())
                .collect();
            let message = format!("a price needs '{}' as well", missing.join("' and '"));
            self.findings.bad_value(section, node.at, message);
        }
        None
    }

    /// A cap that can't count what a model costs is said: the owner believes that it does.
    pub(super) fn caps_count(
        &mut self,
        section: &Section,
        limits: &Table,
        model: &ModelChoice,
        fallback: &[ModelChoice],
    ) {
        let Some((key, node)) = CAPS
            .into_iter()
            .find_map(|key| Some((key, limits.node(key)?)))
        else {
            return;
        };
        for choice in std::iter::once(model).chain(fallback) {
            let message = match choice {
                ModelChoice::Demo => continue,
                ModelChoice::Auto => format!(
                    "'{key}' can't count what 'auto' finds: its price is unknown; name a model, with its price"
                ),
                ModelChoice::Named { provider, model } => {
                    if self.priced.contains(&format!("{provider}/{model}")) {
                        continue;
                    }
                    format!(
                        "'{key}' can't count {provider}/{}: its price is unknown; write usd_per_million_input and \
                         usd_per_million_output into [providers.{}.models.{}]",
                        shown(model),
                        key_text(provider),
                        key_text(&shown(model)),
                    )
                }
            };
            self.findings
                .add(&writer(section, node), node.at, Weight::Warning, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_millionths_and_no_cap_becomes_nothing() {
        assert_eq!(cost(5.0), Cost(5_000_000));
        assert_eq!(cost(0.1 + 0.2), Cost(300_000));
        assert_eq!(cost(0.000_000_01), Cost(1));
        assert_eq!(cost(1_000_000.0), Cost(1_000_000_000_000));
        assert_eq!(millionths(0.0), 0);
    }
}
