//! The gateway's own answers to slash commands.

use chat::Inbound;
use outbox::{Draft, Envelope, MessageKind, NewMessage, Outlet, compose};
use policy::{COMMANDS, CommandSpec};
use session::{InboxId, LineStatus};
use waybill::{Ids, MessageId, SessionScope, Timestamp, Waybill};

/// Makes answers.
pub(crate) struct Commands {
    pub(crate) install: String,
}

impl Commands {
    pub(crate) fn help() -> String {
        let mut text = "Write what you need; files are welcome. Commands:\n".to_owned();
        for spec in COMMANDS {
            let argument = match spec.argument {
                "" => String::new(),
                argument => format!(" {argument}"),
            };
            text.push_str(&format!("\n- `/{}{argument}` — {}", spec.name, spec.help));
        }
        text
    }

    /// The answer to somebody who may not use a command.
    pub(crate) fn not_yours(spec: &CommandSpec) -> String {
        format!("In a group `/{}` is for the owner alone.", spec.name)
    }

    pub(crate) fn who_am_i(inbound: &Inbound) -> String {
        format!(
            "Your id is `{}`; this chat is `{}`.",
            inbound.sender.id.as_str(),
            inbound.chat
        )
    }

    pub(crate) fn status(scope: &SessionScope, about: &str, line: LineStatus) -> String {
        let running = match (line.running, line.waiting) {
            (false, _) => "Nothing is running.".to_owned(),
            (true, 0) => "A turn is running.".to_owned(),
            (true, waiting) => format!("A turn is running; {waiting} more waiting."),
        };
        format!("Profile `{}`. {about}\n\n{running}", scope.profile())
    }

    /// An answer to the chat that the command came from; none if the account is not configured any more.
    #[expect(
        clippy::too_many_arguments,
        reason = "an answer has this many sources, and each is a value"
    )]
    pub(crate) fn answer(
        &self,
        outlet: &dyn Outlet,
        scope: &SessionScope,
        inbound: &Inbound,
        id: InboxId,
        text: String,
        now: Timestamp,
        ids: &dyn Ids,
    ) -> Vec<NewMessage> {
        let Some(descriptor) = outlet.descriptor(&inbound.chat.account) else {
            return Vec::new();
        };
        let Ok(waybill) = Waybill::notice(scope) else {
            return Vec::new();
        };
        let waybill = waybill.answering(Some(inbound.anchor.clone()));
        let envelope = Envelope {
            id: MessageId::fresh(ids),
            install: &self.install,
            waybill: &waybill,
            kind: MessageKind::Reply,
            source: &format!("inbox:{}", id.0),
            ordinal: 0,
            descriptor: &descriptor,
            now,
        };
        compose(
            envelope,
            Draft {
                text,
                ..Draft::default()
            },
        )
        .into_iter()
        .collect()
    }
}
