//! What is known of a model beforehand: its window, its eyes, its price.

use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Money, in millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |mut total, cost| {
            total += cost;
            total
        })
    }
}

/// What a model costs: millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Tokens that are read.
    pub input: u64,
    /// Tokens that are read from a cache.
    pub cached: u64,
    /// Tokens that are written.
    pub output: u64,
}

impl Price {
    /// What a use costs, rounded up.
    #[must_use]
    pub fn of(&self, usage: Usage) -> Cost {
        let fresh = usage.input.saturating_sub(usage.cached);
        let sum = u128::from(fresh) * u128::from(self.input)
            + u128::from(usage.cached.min(usage.input)) * u128::from(self.cached)
            + u128::from(usage.output) * u128::from(self.output);
        Cost(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Tokens that fit into its window, question and answer together, if anybody knows.
    pub window: Option<u32>,
    /// Whether it looks at pictures; `None` where nobody knows.
    pub images: Option<bool>,
    /// What it costs, if anybody said. A model on this machine costs nothing only if somebody said so.
    pub price: Option<Price>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_costs_what_the_table_says_and_a_fraction_is_rounded_up() {
        let price = Price {
            input: 3_000_000,
            cached: 300_000,
            output: 15_000_000,
        };
        let usage = |input, cached, output| Usage {
            input,
            cached,
            output,
        };
        assert_eq!(price.of(usage(1_000_000, 0, 0)), Cost(3_000_000));
        assert_eq!(
            price.of(usage(1_000_000, 400_000, 100_000)),
            Cost(1_800_000 + 120_000 + 1_500_000)
        );
        assert_eq!(price.of(usage(1, 1, 0)), Cost(1));
        assert_eq!(price.of(usage(0, 0, 0)), Cost(0));
        // A provider that counts more cached tokens than read ones is not believed.
        assert_eq!(price.of(usage(10, 20, 0)), Cost(3));
    }
}
