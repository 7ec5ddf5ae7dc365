//! `tidings outbox`: see every parcel and its life, and do with it what its owner wants. Works with and without a running
//! gateway: looking reads the database, acting writes to it as a second process, and a running gateway finds the change by
//! itself.

mod act;
mod list;
mod paint;
mod show;
pub(crate) mod table;

use anyhow::Context as _;
use settings::Home;
use store_sqlite::Store;
use waybill::MessageId;

pub(crate) use act::{Wish, act};
pub(crate) use list::{Which, list};
pub(crate) use paint::Paint;
pub(crate) use show::show;

use crate::exit::Failure;

/// Looks at the database.
pub(crate) fn look<T>(
    home: &Home,
    work: impl AsyncFnOnce(&Store) -> anyhow::Result<T>,
) -> Result<T, Failure> {
    home.check()?;
    run(async {
        let store = Store::open_read_only(&home.database())?;
        work(&store).await
    })
}

/// Changes something in the database, beside a gateway that may run.
fn change<T>(
    home: &Home,
    work: impl AsyncFnOnce(&Store) -> anyhow::Result<T>,
) -> Result<T, Failure> {
    home.check()?;
    run(async {
        let store = Store::open_to_act(&home.database())?;
        let done = work(&store).await?;
        store.close().await?;
        Ok(done)
    })
}

fn run<T>(work: impl Future<Output = anyhow::Result<T>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    Ok(runtime.block_on(work)?)
}

/// What is said of an id that names nothing.
fn no_such(id: MessageId) -> Failure {
    Failure::Failed(format!(
        "there is no parcel {id}; `tidings outbox list` shows those that there are"
    ))
}

#[cfg(test)]
mod tests {
    use chat::{Body, Fault, FaultKind, IdempotencyKey, Op, Receipt, Shape, Way};
    use outbox::{AttemptRow, MessageKind, MessageRow, PartRow, PartState};
    use sandbox::{ArtifactRef, Blob, ContentHash, Taken};
    use testkit::clock::CountingIds;
    use waybill::{AccountId, ChatKey, Conversation, ProfileId, ProfileScope, Timestamp, Waybill};

    use super::*;

    pub(super) const EVIL: &str = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nwords";

    pub(super) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    pub(super) fn obeys_nothing(line: &str) {
        let commands = |sign: char| sign.is_control() || sign == '\u{202e}';
        assert!(!line.chars().any(commands), "{line:?}");
    }

    fn part(n: u32, op: Op, receipt: Option<Receipt>, fault: Option<Fault>) -> PartRow {
        PartRow {
            n,
            place: i64::from(n),
            op,
            way: Way::Direct,
            step: None,
            key: IdempotencyKey::new([1; 16]),
            rendition: 0,
            state: PartState::Failed,
            tries: 1,
            next_at: at(0),
            receipt,
            fault,
            may_be_repeat: false,
            forgotten: false,
            death: None,
            attempts: vec![AttemptRow {
                n: 1,
                started_at: at(1),
                ended_at: None,
                outcome: Some(EVIL.to_owned()),
                detail: Some(EVIL.to_owned()),
            }],
        }
    }

    /// A parcel whose every word was written by somebody who means harm.
    pub(super) fn evil() -> MessageRow {
        let profile = ProfileId::parse("work").unwrap();
        let chat = ChatKey::new(
            AccountId::parse("bot").unwrap(),
            Conversation::new("7").unwrap(),
        );
        let text = Op::Text(Body::Markdown(EVIL.to_owned()));
        let file = Op::File {
            artifact: ArtifactRef {
                profile: profile.clone(),
                blob: Blob {
                    hash: ContentHash::new([1; 32]),
                    size: 1,
                    mime: "text/plain".to_owned(),
                },
                name: EVIL.to_owned(),
                taken: Taken::Received,
            },
            shape: Shape::Document,
            caption: None,
        };
        MessageRow {
            id: MessageId::fresh(&CountingIds::default()),
            waybill: Waybill::operator(&ProfileScope::enter(profile), chat),
            kind: MessageKind::Notice,
            source: EVIL.to_owned(),
            ordinal: 0,
            created_at: at(0),
            expires_at: at(3600),
            parts: vec![
                part(1, text, Some(Receipt::new(EVIL)), None),
                part(2, file, None, Some(Fault::new(FaultKind::PermItem, EVIL))),
            ],
        }
    }
}
