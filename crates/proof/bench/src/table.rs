//! Figures, as a table that a document can take.

use std::fmt;
use std::time::Duration;

/// Rows of what, how much, and beside what.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<[String; 3]>);

impl Table {
    pub(crate) fn row(
        &mut self,
        what: impl Into<String>,
        figure: impl Into<String>,
        beside: impl Into<String>,
    ) {
        let row = [what.into(), figure.into(), beside.into()];
        eprintln!("{}: {}", row[0], row[1]);
        self.0.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "| What | Figure | Beside |\n|---|---|---|")?;
        self.0.iter().try_for_each(|[what, figure, beside]| {
            writeln!(out, "| {what} | {figure} | {beside} |")
        })
    }
}

/// The value below which `share` of the samples lie.
pub(crate) fn quantile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    let last = samples.len().saturating_sub(1);
    let position = (last as f64 * share).round() as usize;
    samples.get(position.min(last)).copied().unwrap_or_default()
}

pub(crate) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// `p50 1.0 ms, p99 2.0 ms`
pub(crate) fn spread(samples: &mut [Duration]) -> String {
    format!(
        "p50 {}, p99 {}",
        ms(quantile(samples, 0.5)),
        ms(quantile(samples, 0.99))
    )
}
