//! One turn, from its first word to its commit.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chat::{Activity, Inbound, Preview};
use futures_util::FutureExt;
use model::{Content, Message, Reply, Request, StopReason, ToolCall, Usage};
use outbox::{Claimed, Draft, Envelope, MessageKind, NewMessage, StoreError, compose};
use session::{TurnCommit, TurnEnd, TurnStart, wire_messages};
use tokio_util::sync::CancellationToken;
use waybill::{
    Anchor, ChatKey, MessageId, Origin, Placement, SessionScope, TaskId, TurnId, TurnScope, Waybill,
};

use crate::answer::{add_below, correction, gather};
use crate::attach::Gathered;
use crate::line::Work;
use crate::receive::receive;
use crate::step::{Step, ask};
use crate::tools::{Bench, Done};
use crate::{Ports, Tenant, prompt, tools};

/// How often a turn that was cut off is taken up again before its person is told that it can't be finished.
const MOST_RESUMES: u32 = 2;
/// Tries of the commit before it is left to the next start.
const COMMIT_TRIES: u32 = 5;
/// Same failing call in a row after which the turn ends: the model is stuck.
const STUCK: u32 = 3;

/// What a turn came to.
struct Outcome {
    end: TurnEnd,
    text: String,
    gathered: Gathered,
    transcript: Vec<Message>,
    usage: Usage,
}

/// Runs a turn to its commit.
pub(crate) async fn run(ports: &Ports, install: &str, work: Work, stop: &CancellationToken) {
    let (session, inbound, running) = match &work {
        Work::Fresh(admitted) => (&admitted.scope, Some(&admitted.inbound), None),
        Work::Resumed(record) => (
            record.scope.session(),
            record.inbound.as_ref(),
            Some(&record.scope),
        ),
    };
    let chat = session.chat().cloned();
    if let Some(chat) = &chat {
        ports.outlet.activity(chat, Activity::Typing);
    }
    let tenant = ports.tenants.tenant(session.profile());
    let scope = match (running, &tenant) {
        (Some(scope), _) => scope.clone(),
        (None, Some(tenant)) => begin(ports, session, tenant.placement),
        (None, None) => begin(ports, session, Placement::PerProfile),
    };
    let anchor = inbound.map(|inbound| inbound.anchor.clone());
    let mut notes = Vec::new();
    let handled = AssertUnwindSafe(handle(
        ports,
        tenant.as_deref(),
        &scope,
        &work,
        chat.as_ref(),
        stop,
        &mut notes,
    ))
    .catch_unwind()
    .await;
    let outcome = match handled {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            tracing::error!(turn = %scope.turn(), %error, "the turn could not be stored; it goes on at the next start");
            quiet(ports, chat.as_ref());
            return;
        }
        Err(_panic) => failed("the gateway made a mistake in this turn; its log has the details"),
    };
    let commit = conclude(ports, install, &scope, anchor, outcome, notes);
    match store(ports, commit).await {
        Ok(claimed) => ports.outlet.carry(claimed),
        Err(error) => {
            tracing::error!(turn = %scope.turn(), %error, "the turn's end could not be stored")
        }
    }
    quiet(ports, chat.as_ref());
}

fn begin(ports: &Ports, session: &SessionScope, placement: Placement) -> TurnScope {
    let ids = ports.ids.as_ref();
    let origin = session
        .chat()
        .map_or(Origin::Operator, |chat| Origin::Chat(chat.clone()));
    session.begin_turn(TurnId::fresh(ids), TaskId::fresh(ids), origin, placement)
}

fn quiet(ports: &Ports, chat: Option<&ChatKey>) {
    if let Some(chat) = chat {
        ports.outlet.preview(chat, Preview::Clear);
        ports.outlet.activity(chat, Activity::Idle);
    }
}

fn failed(reason: impl Into<String>) -> Outcome {
    Outcome {
        end: TurnEnd::Failed {
            reason: reason.into(),
        },
        text: String::new(),
        gathered: Gathered::default(),
        transcript: Vec::new(),
        usage: Usage::default(),
    }
}

async fn handle(
    ports: &Ports,
    tenant: Option<&Tenant>,
    scope: &TurnScope,
    work: &Work,
    chat: Option<&ChatKey>,
    stop: &CancellationToken,
    notes: &mut Vec<String>,
) -> Result<Outcome, StoreError> {
    match work {
        Work::Fresh(admitted) => {
            let message = match tenant {
                Some(tenant) => {
                    let received = receive(ports, tenant, scope, &admitted.inbound).await;
                    notes.extend(received.notes);
                    received.message
                }
                None => plain_message(&admitted.inbound),
            };
            let start = TurnStart {
                scope: scope.clone(),
                inbox: vec![admitted.id],
                message,
                at: ports.clock.now(),
            };
            ports.sessions.begin_turn(start).await?;
        }
        Work::Resumed(_) => {
            if ports.sessions.count_resume(scope.turn()).await? > MOST_RESUMES {
                return Ok(failed(
                    "the gateway was restarted in the middle of this turn, several times",
                ));
            }
        }
    }
    let Some(tenant) = tenant else {
        return Ok(failed(format!(
            "the profile '{}' is not configured",
            scope.profile()
        )));
    };
    let transcript: Vec<Message> = ports
        .sessions
        .transcript(scope.session().id())
        .await?
        .into_iter()
        .map(|entry| entry.message)
        .collect();
    let mut talk = Talk {
        ports,
        tenant,
        scope,
        chat,
        transcript,
        gathered: Gathered::default(),
        usage: Usage::default(),
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Outcome {
            end: TurnEnd::Interrupted,
            text: String::new(),
            gathered: Gathered::default(),
            transcript: Vec::new(),
            usage: Usage::default(),
        }),
        ended = talk.run() => {
            let (end, text, transcript) = ended?;
            Ok(Outcome { end, text, gathered: talk.gathered, transcript, usage: talk.usage })
        }
    }
}

fn plain_message(inbound: &Inbound) -> Message {
    Message::User {
        content: vec![Content::Text {
            text: inbound.text.clone(),
        }],
    }
}

/// The conversation with the model.
struct Talk<'a> {
    ports: &'a Ports,
    tenant: &'a Tenant,
    scope: &'a TurnScope,
    chat: Option<&'a ChatKey>,
    transcript: Vec<Message>,
    gathered: Gathered,
    usage: Usage,
}

type Ended = (TurnEnd, String, Vec<Message>);

impl Talk<'_> {
    async fn run(&mut self) -> Result<Ended, StoreError> {
        let system = prompt::system_prompt(self.tenant);
        let specs = tools::specs();
        let mut answer: Option<String> = None;
        let mut emptied = false;
        let mut stuck: (Option<ToolCall>, u32) = (None, 0);
        for number in 1..=self.tenant.steps {
            let request = Request {
                system: system.clone(),
                messages: wire_messages(&self.transcript),
                tools: specs.clone(),
            };
            let step = match ask(self.ports, self.tenant, self.scope, self.chat, &request).await {
                Ok(step) => step,
                // What was answered before the correction was asked for stays the answer.
                Err(_) if answer.is_some() => return Ok(self.answered(answer, Vec::new())),
                Err(error) => return Ok(self.gave_up(error.to_string())),
            };
            if let Some(usage) = step.reply.usage {
                self.usage += usage;
            }
            let words = gather(&mut self.gathered, number, &step);
            let said = Message::Assistant {
                text: step.reply.text.clone(),
                calls: step.reply.calls.clone(),
            };
            if !step.reply.calls.is_empty() {
                self.write(said).await?;
                for call in &step.reply.calls {
                    let done = self.call(number, call).await;
                    stuck = count_failures(stuck, call, &done);
                    self.write(done.message(call)).await?;
                }
                if stuck.1 >= STUCK {
                    return Ok(self.gave_up("the model kept repeating a call that fails"));
                }
                continue;
            }
            match (&answer, words.is_empty() && !self.gathered.has_files()) {
                (None, true) if !emptied && retriable_silence(&step.reply) => {
                    emptied = true;
                    continue;
                }
                (None, true) if self.gathered.refused().next().is_none() => {
                    return Ok(self.gave_up(silence(&step)));
                }
                _ => {}
            }
            let first = answer.is_none();
            let mut text = answer.take().unwrap_or_default();
            add_below(&mut text, &words);
            if step.reply.stop == StopReason::Length {
                add_below(
                    &mut text,
                    "⚠ The answer was cut: the model reached its output limit.",
                );
            }
            answer = Some(text);
            match correction(&self.gathered) {
                Some(request) if first && number < self.tenant.steps => {
                    self.write(said).await?;
                    self.write(Message::User {
                        content: vec![Content::Text { text: request }],
                    })
                    .await?;
                }
                _ => return Ok(self.answered(answer, vec![said])),
            }
        }
        if answer.is_some() {
            return Ok(self.answered(answer, Vec::new()));
        }
        let steps = self.tenant.steps;
        let text = format!(
            "⚠ I stopped after {steps} steps without being done. Say “go on” to let me continue."
        );
        Ok((
            TurnEnd::StepsExhausted,
            text.clone(),
            vec![Message::Assistant {
                text,
                calls: Vec::new(),
            }],
        ))
    }

    fn answered(&self, answer: Option<String>, transcript: Vec<Message>) -> Ended {
        (TurnEnd::Answered, answer.unwrap_or_default(), transcript)
    }

    fn gave_up(&self, reason: impl Into<String>) -> Ended {
        (
            TurnEnd::Failed {
                reason: reason.into(),
            },
            String::new(),
            Vec::new(),
        )
    }

    /// Write-ahead: durable before anything follows from it.
    async fn write(&mut self, message: Message) -> Result<(), StoreError> {
        self.ports
            .sessions
            .append(self.scope, vec![message.clone()], self.ports.clock.now())
            .await?;
        self.transcript.push(message);
        Ok(())
    }

    async fn call(&mut self, number: u32, call: &ToolCall) -> Done {
        let began = Activity::ToolBegan {
            id: call.id.clone(),
            tool: call.name.clone(),
            detail: tools::detail(call),
        };
        self.show(began);
        let mut bench = Bench {
            ports: self.ports,
            tenant: self.tenant,
            scope: self.scope,
            gathered: &mut self.gathered,
            step: number,
        };
        let done = bench.run(call).await;
        self.show(Activity::ToolEnded {
            id: call.id.clone(),
            result: done.text.chars().take(2_000).collect(),
            failed: done.failed,
        });
        done
    }

    fn show(&self, activity: Activity) {
        if let Some(chat) = self.chat {
            self.ports.outlet.activity(chat, activity);
        }
    }
}

fn count_failures(
    stuck: (Option<ToolCall>, u32),
    call: &ToolCall,
    done: &Done,
) -> (Option<ToolCall>, u32) {
    let same = stuck
        .0
        .as_ref()
        .is_some_and(|last| last.name == call.name && last.arguments == call.arguments);
    match (done.failed, same) {
        (false, _) => (None, 0),
        (true, true) => (stuck.0, stuck.1 + 1),
        (true, false) => (Some(call.clone()), 1),
    }
}

fn retriable_silence(reply: &Reply) -> bool {
    match reply.stop {
        StopReason::End | StopReason::ToolUse => true,
        StopReason::Length | StopReason::Refused => false,
    }
}

fn silence(step: &Step) -> &'static str {
    match step.reply.stop {
        StopReason::Length => "the model ran out of output tokens before it said anything",
        StopReason::Refused => "the model refused to answer",
        StopReason::End | StopReason::ToolUse => "the model gave an empty answer",
    }
}

/// The turn's end as one transaction: transcript, outgoing message, usage.
fn conclude(
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    anchor: Option<Anchor>,
    outcome: Outcome,
    mut notes: Vec<String>,
) -> TurnCommit {
    let Outcome {
        end,
        text,
        gathered,
        mut transcript,
        usage,
    } = outcome;
    let (attachments, refused) = gathered.into_parts();
    notes.extend(refused);
    match &end {
        TurnEnd::Answered | TurnEnd::StepsExhausted => {}
        TurnEnd::Interrupted => {
            notes.push("⏹ Stopped.".to_owned());
            transcript.push(note("[gateway] The person stopped this turn."));
        }
        TurnEnd::Failed { reason } => {
            tracing::warn!(turn = %scope.turn(), reason, "the turn failed");
            notes.push(format!("⚠ I could not answer: {reason}."));
            transcript.push(note(&format!(
                "[gateway] This turn ended without an answer: {reason}."
            )));
        }
    }
    let draft = Draft {
        text,
        attachments,
        notes,
    };
    let outgoing = reply(ports, install, scope, anchor, draft)
        .into_iter()
        .collect();
    TurnCommit {
        scope: scope.clone(),
        end,
        transcript,
        outgoing,
        usage,
        at: ports.clock.now(),
    }
}

fn note(text: &str) -> Message {
    Message::Assistant {
        text: text.to_owned(),
        calls: Vec::new(),
    }
}

fn reply(
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    anchor: Option<Anchor>,
    draft: Draft,
) -> Option<NewMessage> {
    let waybill = match Waybill::reply(scope) {
        Ok(waybill) => waybill.answering(anchor),
        Err(error) => {
            tracing::error!(turn = %scope.turn(), %error, "an answer has nowhere to go");
            return None;
        }
    };
    let Some(descriptor) = ports.outlet.descriptor(waybill.account()) else {
        tracing::error!(turn = %scope.turn(), account = %waybill.account(), "the account is not configured any more");
        return None;
    };
    let envelope = Envelope {
        id: MessageId::fresh(ports.ids.as_ref()),
        install,
        waybill: &waybill,
        kind: MessageKind::Reply,
        source: &format!("turn:{}", scope.turn()),
        ordinal: 0,
        descriptor: &descriptor,
        now: ports.clock.now(),
    };
    compose(envelope, draft)
}

async fn store(ports: &Ports, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError> {
    let mut rest = Duration::from_millis(200);
    for _ in 1..COMMIT_TRIES {
        match ports.sessions.commit_turn(commit.clone()).await {
            Ok(claimed) => return Ok(claimed),
            Err(error) => {
                tracing::error!(turn = %commit.scope.turn(), %error, "a turn's end could not be stored")
            }
        }
        tokio::time::sleep(rest).await;
        rest *= 2;
    }
    ports.sessions.commit_turn(commit).await
}
