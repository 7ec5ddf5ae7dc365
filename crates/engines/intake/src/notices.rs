//! What the owner is told of events: that some were put aside, and that a chat has another id.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox::{Draft, Envelope, MessageKind, NewMessage, compose};
use session::{InboxId, PutAside};
use waybill::{AccountId, ChatKey, MessageId, ProfileScope, Waybill};

use crate::service::{Intake, Stored};

/// Between two notices of events that were put aside: a platform that changed its language would make one of each event.
pub(crate) const BETWEEN: Duration = Duration::from_secs(5 * 60);
/// How often it is looked whether there is something to tell: others put events aside, too, and the store may fail.
pub(crate) const LOOK: Duration = Duration::from_secs(10);
/// Events that one round tells of.
const MOST: usize = 1_000;
/// Events that a notice names; of the rest it tells the number.
const NAMED: usize = 5;

impl Intake {
    /// Tells owners of events that were put aside, each once. Returns whether there were any. Those that nobody can be told of
    /// are looked at again.
    pub(crate) async fn tell_of_put_aside(&self) -> Stored<bool> {
        let rows = self.inbox.untold(MOST).await?;
        let any = !rows.is_empty();
        let mut by_account: BTreeMap<AccountId, Vec<PutAside>> = BTreeMap::new();
        for row in rows {
            by_account.entry(row.account.clone()).or_default().push(row);
        }
        for (account, rows) in by_account {
            let chat = rows.iter().find_map(|row| row.chat.as_ref());
            let ids: Vec<InboxId> = rows.iter().map(|row| row.id).collect();
            let source = format!("aside-event:{}", ids.first().map_or(0, |id| id.0));
            let notices = self
                .to_owner(&account, chat, &source, put_aside(&account, &rows))
                .await?;
            for row in &rows {
                tracing::error!(%account, inbox = row.id.0, reason = row.reason, told = !notices.is_empty(), "an event was put aside");
            }
            if notices.is_empty() {
                tracing::warn!(%account, "nobody can be told of these events: no profile has a chat of its own");
                continue;
            }
            let told = self.inbox.tell(ids, notices, self.clock.now()).await?;
            self.outlet.carry(told);
        }
        Ok(any)
    }

    /// What the owner has to know when a chat gets another id; nothing if the configuration does not name the old one.
    pub(crate) async fn of_move(&self, from: &ChatKey, to: &ChatKey) -> Stored<Vec<NewMessage>> {
        if !self.directory.names(from) {
            return Ok(Vec::new());
        }
        let (old, new) = (from.conversation.as_str(), to.conversation.as_str());
        let line = format!(
            "ℹ The group `{old}` of the account `{}` has the id `{new}` from now on: the platform moved it. Everything goes on \
             there. In the configuration, write `{new}` in place of `{old}`; until then the old id is taken for the new one.",
            from.account
        );
        self.to_owner(
            &from.account,
            Some(from),
            &format!("moved:{from}:{to}"),
            line,
        )
        .await
    }

    async fn to_owner(
        &self,
        account: &AccountId,
        chat: Option<&ChatKey>,
        source: &str,
        line: String,
    ) -> Stored<Vec<NewMessage>> {
        let Some((profile, home)) = self.directory.home(account, chat).await? else {
            return Ok(Vec::new());
        };
        let Some(descriptor) = self.outlet.descriptor(&home.account) else {
            return Ok(Vec::new());
        };
        let waybill = Waybill::operator(&ProfileScope::enter(profile), home);
        let envelope = Envelope {
            id: MessageId::fresh(self.ids.as_ref()),
            install: &self.commands.install,
            waybill: &waybill,
            kind: MessageKind::Notice,
            source,
            ordinal: 0,
            descriptor: &descriptor,
            now: self.clock.now(),
        };
        let draft = Draft {
            notes: vec![line],
            ..Draft::default()
        };
        Ok(compose(envelope, draft).into_iter().collect())
    }
}

fn put_aside(account: &AccountId, rows: &[PutAside]) -> String {
    let mut text = match rows.len() {
        1 => format!(
            "⚠ An event of the account `{account}` was put aside. Nothing was done with it:\n"
        ),
        many => format!(
            "⚠ {many} events of the account `{account}` were put aside. Nothing was done with them:\n"
        ),
    };
    for row in rows.iter().take(NAMED) {
        let place = match &row.chat {
            Some(chat) => format!(" (chat `{chat}`)"),
            None => String::new(),
        };
        text.push_str(&format!(
            "\n- number {} of the inbox{place}: {}",
            row.id.0, row.reason
        ));
    }
    if rows.len() > NAMED {
        text.push_str(&format!("\n- … and {} more", rows.len() - NAMED));
    }
    text
}
