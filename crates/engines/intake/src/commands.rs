//! The gateway's own answers to slash commands.

use chat::Inbound;
use outbox::{Draft, Envelope, MessageKind, NewMessage, Outlet, compose};
use policy::{COMMANDS, CommandSpec};
use session::{Fill, InboxId, LineStatus};
use waybill::{Ids, MessageId, SessionScope, Timestamp, Waybill};

use crate::SkillCommand;

/// Skills that help names, and characters of each one's description: all of it still fits one message of most channels.
const SKILLS: (usize, usize) = (30, 80);

/// Makes answers.
pub(crate) struct Commands {
    pub(crate) install: String,
}

impl Commands {
    pub(crate) fn help(skills: &[SkillCommand]) -> String {
        let mut text = "Write what you need; files are welcome. Commands:\n".to_owned();
        for spec in COMMANDS {
            let argument = match spec.argument {
                "" => String::new(),
                argument => format!(" {argument}"),
            };
            text.push_str(&format!("\n- `/{}{argument}` — {}", spec.name, spec.help));
        }
        if !skills.is_empty() {
            text.push_str("\n\nSkills of this profile:\n");
            let (most, longest) = SKILLS;
            for skill in skills.iter().take(most) {
                let about = &skill.description;
                let short: String = about.chars().take(longest).collect();
                let more = if short.len() < about.len() { "…" } else { "" };
                text.push_str(&format!("\n- `/{}` — {short}{more}", skill.command));
            }
            if let Some(more) = skills.len().checked_sub(most).filter(|more| *more > 0) {
                text.push_str(&format!("\n- and {more} more; ask for them"));
            }
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

    /// What fills the window, the largest first.
    pub(crate) fn context(fill: Option<&Fill>) -> String {
        let Some(fill) = fill else {
            return "The profile of this chat is not configured.".to_owned();
        };
        let share = |tokens: u32| u64::from(tokens) * 100 / u64::from(fill.window.max(1));
        let mut rows = [
            ("persona, memory and environment", fill.prompt),
            ("tools", fill.tools),
            ("notes on what was said before", fill.notes),
            ("what people wrote", fill.people),
            ("answers", fill.answers),
            ("calls of tools", fill.calls),
            ("results of tools", fill.results),
        ];
        rows.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        let all = fill.tokens();
        let assumed = if fill.known { "" } else { " (assumed)" };
        let mut text = format!(
            "`{}`: about {} of {}{assumed} tokens, {} %. When three quarters are full, the older part becomes notes.\n",
            fill.route,
            thousands(all.into()),
            thousands(fill.window.into()),
            share(all)
        );
        for (what, tokens) in rows.into_iter().filter(|(_, tokens)| *tokens > 0) {
            text.push_str(&format!(
                "\n- {what}: {}, {} %",
                thousands(tokens.into()),
                share(tokens)
            ));
        }
        match &fill.last {
            Some((route, usage)) => text.push_str(&format!(
                "\n\nThe last call, by `{route}`'s own count: {} read, {} of them from its cache; {} written.",
                thousands(usage.input),
                thousands(usage.cached),
                thousands(usage.output)
            )),
            None => text.push_str("\n\nNo call was counted here since the gateway started."),
        }
        text
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

/// `12,345`
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_can_be_read() {
        let shown: Vec<String> = [0, 999, 1_000, 128_000, 1_234_567]
            .into_iter()
            .map(thousands)
            .collect();
        assert_eq!(shown, ["0", "999", "1,000", "128,000", "1,234,567"]);
    }
}
