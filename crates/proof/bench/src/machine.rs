//! The machine: what figures depend on.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::table::{Table, quantile, spread};

pub(crate) fn describe(table: &mut Table, binary: &Path) -> anyhow::Result<()> {
    let processor = std::fs::read_to_string("/proc/cpuinfo").context("the processor is unknown")?;
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split(':').nth(1))
        .map_or("unknown", str::trim);
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    table.row(
        "machine",
        format!("{cores} cores, {model}"),
        format!("kernel {}", kernel.trim()),
    );
    let size = std::fs::metadata(binary)
        .context("the binary can't be looked at")?
        .len();
    table.row(
        "binary",
        format!("{:.1} MB", size as f64 / 1e6),
        "target ≤ 30 MB",
    );
    Ok(())
}

/// Appends 4 KiB and syncs, as a commit of the store does; returns the median.
pub(crate) fn fdatasync(table: &mut Table) -> anyhow::Result<Duration> {
    let mut file = tempfile::tempfile().context("no file to measure the disk with")?;
    let page = [7_u8; 4096];
    let mut samples = Vec::new();
    for _ in 0..300 {
        file.write_all(&page)?;
        let began = Instant::now();
        file.sync_data()?;
        samples.push(began.elapsed());
    }
    table.row(
        "fdatasync of 4 KiB",
        spread(&mut samples),
        "same disk as the homes below",
    );
    Ok(quantile(&mut samples, 0.5))
}
