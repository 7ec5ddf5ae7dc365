//! From a call to a yes or a sentence why not.

use std::collections::BTreeSet;
use std::time::Duration;

use chat::SenderId;
use model::ToolCall;
use policy::{
    Action, Because, Context, Decided, Decision, Fingerprint, Labels, Outcome, decide, plain, shown,
};
use serde_json::{Map, Value};
use session::Lasting;
use waybill::SessionKey;

use super::{read, sort};
use crate::asking::{Kind, Question, Said, Unanswered, Until, Wanted};
use crate::tools::Bench;

impl Bench<'_> {
    /// Whether a call may be run; `Err` is for the model, and nothing was run.
    pub(crate) async fn permit(&mut self, call: &ToolCall) -> Result<(), String> {
        let Ok(arguments) = &call.arguments else {
            // It is not run; that is said elsewhere.
            return Ok(());
        };
        let known = || read::known(self.transcript);
        let action = sort::sort(self.tenant, self.chat, &known, &call.name, arguments);
        if let Action::Unknown { tool } = &action
            && let Some(why) = crate::tools::outside::gone(self.tenant, tool)
        {
            return Err(why);
        }
        if let Action::Unknown { tool } = &action
            && !crate::tools::specs(self.tenant)
                .iter()
                .any(|spec| spec.name == *tool)
        {
            // There is no such tool; that is said elsewhere.
            return Ok(());
        }
        if action == Action::Inside {
            return Ok(());
        }
        let context = self.context();
        let labels = self.labels(context);
        let sink = Sink {
            action,
            fingerprint: Fingerprint::of(&call.name, arguments),
            context,
            labels,
        };
        match decide(&sink.action, labels, context, &self.tenant.approvals) {
            Decision::Allow => {
                self.record(&sink, Outcome::Allowed);
                Ok(())
            }
            Decision::Deny(why) => {
                self.record(&sink, Outcome::Denied(why.name()));
                Err(format!("nothing was done: {}", why.sentence()))
            }
            Decision::Ask(because) => self.ask_for(&sink, because, &call.name, arguments).await,
        }
    }

    /// What the turn has read by now.
    fn labels(&self, context: Context) -> Labels {
        let session = self.scope.session().id();
        let read = self
            .gathered
            .0
            .labels
            .with(read::of_transcript(self.transcript, context));
        // What is remembered stands in every prompt.
        let remembered = Labels {
            private: self.seat.frozen().remembers(session),
            ..Labels::NONE
        };
        self.seat
            .questions()
            .grants()
            .read(session, read.with(remembered))
    }

    /// Who is there.
    pub(crate) fn context(&self) -> Context {
        match self.scope.session().key() {
            SessionKey::Chat(chat) => policy::context(self.gathered.0.askers.iter().map(|asker| {
                let standing = self.ports.people.standing(&chat.account, &asker.sender.id);
                (standing, asker.place)
            })),
            SessionKey::Api(..) => Context::Api,
            SessionKey::Cron(_) | SessionKey::Child(_) => Context::Nobody,
            // Nothing says yet who sits at a terminal.
            SessionKey::Local(_) => Context::Unknown,
        }
    }

    /// Whose messages the turn answers.
    fn askers(&self) -> BTreeSet<SenderId> {
        let askers = self.gathered.0.askers.iter();
        askers.map(|asker| asker.sender.id.clone()).collect()
    }

    /// Who may answer: who asked, and the account's owner.
    pub(crate) fn who_may_answer(&self) -> BTreeSet<SenderId> {
        let mut who = self.askers();
        if let Some(chat) = self.chat {
            who.extend(self.ports.people.owners(&chat.account));
        }
        who
    }

    /// Whether somebody is there who can be asked.
    pub(crate) fn somebody_is_there(&self) -> bool {
        self.context().has_somebody()
    }

    async fn ask_for(
        &mut self,
        sink: &Sink,
        because: Because,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(), String> {
        let (turn, session) = (self.scope.turn(), self.scope.session().id());
        let questions = self.seat.questions();
        let wanted = sink.action.class().map(|class| Wanted {
            session,
            turn,
            class,
            because,
            people: self.askers(),
        });
        if wanted
            .as_ref()
            .is_some_and(|wanted| questions.grants().allows(wanted))
        {
            self.record(sink, Outcome::Granted);
            return Ok(());
        }
        if let Some(why) = questions.grants().not_again(turn, sink.fingerprint) {
            self.record(sink, Outcome::Denied("asked_before"));
            return Err(format!("nothing was done: {why}"));
        }
        self.record(sink, Outcome::Asked);
        let lasting = match &wanted {
            Some(_) => vec![Lasting::Once, Lasting::Conversation],
            None => vec![Lasting::Once],
        };
        let question = Question {
            kind: Kind::Approval { lasting },
            who: self.who_may_answer(),
            text: self.words(sink, because, tool, arguments),
            patience: self.patience(),
        };
        let asked = self.ask_person(question).await;
        let refused = |why: String| {
            questions.grants().refuse(turn, sink.fingerprint);
            Err(format!("nothing was done: {why}"))
        };
        match asked {
            Ok(reply) => match reply.said {
                Said::Yes(lasting) => {
                    self.record(sink, Outcome::Approved(reply.by));
                    let until = match (lasting, &sink.action) {
                        (Lasting::Conversation, _) => Some(Until::Session(session)),
                        // Commands are many, and each could do what the first one could.
                        (Lasting::Once, Action::Run(_)) => Some(Until::Turn(turn)),
                        (Lasting::Once, _) => None,
                    };
                    if let (Some(wanted), Some(until)) = (wanted, until) {
                        questions.grants().allow(wanted, until);
                    }
                    Ok(())
                }
                Said::No(reason) => {
                    self.record(sink, Outcome::Refused(reply.by));
                    refused(match reason {
                        Some(reason) => format!("the person said no: {reason}"),
                        None => "the person said no".to_owned(),
                    })
                }
                // An approval takes no other words.
                Said::Words(_) => refused("it was not allowed".to_owned()),
            },
            Err(Unanswered::Expired) => {
                self.record(sink, Outcome::Unanswered);
                refused(
                    "the person was asked and did not answer in time, which counts as no"
                        .to_owned(),
                )
            }
            Err(Unanswered::NotAsked(why)) => {
                self.record(sink, Outcome::Unanswered);
                Err(format!(
                    "nothing was done: it needs the person's approval, and {why}"
                ))
            }
        }
    }

    /// How long a question waits.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.tenant.ask_seconds.max(1))
    }

    pub(crate) async fn ask_person(
        &self,
        question: Question,
    ) -> Result<crate::asking::Reply, Unanswered> {
        crate::asking::ask(
            self.seat.questions(),
            self.ports,
            self.seat.install(),
            self.scope,
            question,
        )
        .await
    }

    /// The question: what, exactly, for whom, why it is asked.
    fn words(
        &self,
        sink: &Sink,
        because: Because,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> String {
        let shown = shown(arguments);
        let fence = "`".repeat(longest_run(&shown).max(2) + 1);
        let asked = self.gathered.0.askers.last().map_or_else(
            || "nobody that I know".to_owned(),
            |asker| {
                let id = plain(asker.sender.id.as_str(), 40);
                match &asker.sender.name {
                    Some(name) => format!("{} (id `{id}`)", markdown_plain(&plain(name, 40))),
                    None => format!("`{id}`"),
                }
            },
        );
        let why = match because {
            Because::Rule => "",
            Because::Tainted => {
                "\n⚠ In this conversation I have read text of others and private data: check that it is what you want, and not what \
                 that text wants."
            }
        };
        format!(
            "🔐 May I {}?\n\n{fence}\n{}\n{shown}\n{fence}\nAsked for in a turn of {asked}, profile `{}`. Fingerprint `{}`.{why}",
            markdown_plain(&sink.action.question()),
            plain(tool, 64),
            self.scope.profile(),
            sink.fingerprint,
        )
    }

    fn record(&self, sink: &Sink, outcome: Outcome) {
        let decided = Decided {
            at: self.ports.clock.now(),
            scope: self.scope,
            action: &sink.action,
            call: sink.fingerprint,
            labels: sink.labels,
            context: sink.context,
            outcome,
        };
        tracing::info!(
            turn = %self.scope.turn(), outcome = decided.outcome.name(), call = %sink.fingerprint, context = sink.context.name(),
            untrusted = sink.labels.untrusted, private = sink.labels.private,
            class = sink.action.class().as_ref().map(|class| tracing::field::display(class.as_str().to_owned())),
            "a call that leaves the sandbox"
        );
        self.ports.audit.record(&decided);
    }
}

/// A call that is not inside, and all that its decision was made from.
struct Sink {
    action: Action,
    fingerprint: Fingerprint,
    context: Context,
    labels: Labels,
}

fn longest_run(text: &str) -> usize {
    text.split(|sign| sign != '`')
        .map(str::len)
        .max()
        .unwrap_or_default()
}

/// Words in which no sign formats anything: names can be chosen.
fn markdown_plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        if sign.is_ascii_punctuation() && !matches!(sign, '.' | ',' | '-' | '\'' | '/' | ':') {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}
