//! The outbox at rest, measured by the store's own example beside bare SQL: only that room knows SQL.

use std::process::Command;

use anyhow::Context as _;

use crate::table::Table;

pub(crate) fn measure(table: &mut Table, quick: bool) -> anyhow::Result<()> {
    let mine = std::env::current_exe().context("this program's own path is unknown")?;
    let cycle = mine.with_file_name("examples").join("cycle");
    anyhow::ensure!(
        cycle.exists(),
        "{} is missing: cargo xtask bench builds it",
        cycle.display()
    );
    let mut command = Command::new(cycle);
    if quick {
        command.arg("--quick");
    }
    let output = command
        .output()
        .context("the store's example can't be run")?;
    anyhow::ensure!(
        output.status.success(),
        "the store's example failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default().to_owned();
        table.row(field(), field(), field());
    }
    Ok(())
}
