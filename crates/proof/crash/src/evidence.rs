//! What is laid before the judge.

use anyhow::Context as _;
use checker::{Driver, Evidence, Fake, Row};

use crate::world::{BOTS, World, account, bot_id};

/// What a repeat begins with on Telegram.
const MARK: &str = "↻ may be a repeat";
/// What a carrier says before its content comes: of words, of a file.
const PLACEHOLDERS: [&str; 2] = ["…", "⏳ "];

/// Collects both ledgers. The gateway may run or not.
pub(crate) async fn collect(world: &World) -> anyhow::Result<Evidence> {
    let rows = world
        .place
        .objects(&["outbox", "list", "--most", "1000000"])
        .await?;
    let product: Vec<Row> = rows
        .into_iter()
        .map(|row| serde_json::from_value(row.clone()).with_context(|| format!("a row: {row}")))
        .collect::<anyhow::Result<_>>()?;
    let fake: Fake =
        serde_json::from_value(world.telegram.ledger()).context("the fake's ledger")?;
    Ok(Evidence {
        product,
        fake,
        driver: driver(world),
    })
}

fn driver(world: &World) -> Driver {
    Driver {
        accounts: (0..BOTS).map(|bot| (account(bot), bot_id(bot))).collect(),
        keyed: Vec::new(),
        inbound: world
            .speeches
            .iter()
            .take(world.written)
            .map(|speech| speech.inbound(&account(speech.bot)))
            .collect(),
        mark: MARK.to_owned(),
        placeholders: PLACEHOLDERS.map(str::to_owned).to_vec(),
        anonymous: Vec::new(),
    }
}
