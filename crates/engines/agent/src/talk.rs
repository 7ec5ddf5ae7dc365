//! The conversation with the model: calls and tools, until there is an answer or a reason why not.

use chat::Activity;
use model::{Content, Message, Reply, Request, StopReason, ToolCall};
use outbox::StoreError;
use session::{TakenIn, TurnEnd, wire_messages};
use waybill::{ChatKey, TurnScope};

use crate::answer::{add_below, correction, gather};
use crate::attach::Gathered;
use crate::line::Seat;
use crate::step::{Step, ask};
use crate::tools::{Bench, Done};
use crate::turn::heard;
use crate::{Ports, Tenant, prompt, redaction, tools};

/// Same failing call in a row after which the turn ends: the model is stuck.
const STUCK: u32 = 3;

/// What stands before words that came while the turn ran.
const MEANWHILE: &str = "[The person wrote this while you were working:]\n";

/// A turn's conversation. What it promised is in `gathered`, whatever becomes of the conversation.
pub(crate) struct Talk<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) tenant: &'a Tenant,
    pub(crate) seat: Seat<'a>,
    pub(crate) scope: &'a TurnScope,
    pub(crate) chat: Option<&'a ChatKey>,
    pub(crate) transcript: Vec<Message>,
    pub(crate) gathered: &'a mut Gathered,
}

/// How a conversation ended, and the last message of its transcript, if that is not stored yet.
pub(crate) struct Ended {
    pub(crate) end: TurnEnd,
    pub(crate) last: Option<Message>,
}

impl Ended {
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self {
            end: TurnEnd::Failed {
                reason: reason.into(),
            },
            last: None,
        }
    }

    fn answered(last: Option<Message>) -> Self {
        Self {
            end: TurnEnd::Answered,
            last,
        }
    }
}

/// What a step leads to.
enum Next {
    /// Ask again.
    Ask,
    /// Done.
    End(Ended),
}

impl Talk<'_> {
    /// Talks to the end.
    ///
    /// # Errors
    /// [`StoreError`] if a step could not be stored; the turn can be taken up from what is.
    pub(crate) async fn run(&mut self) -> Result<Ended, StoreError> {
        let redactor = &self.ports.redactor;
        let system = redaction::own(redactor, prompt::system_prompt(self.tenant));
        let specs = tools::specs();
        let mut silent = false;
        let mut stuck = Stuck::default();
        for number in 1..=self.tenant.steps {
            let request = Request {
                system: system.clone(),
                messages: wire_messages(&self.transcript),
                tools: specs.clone(),
            };
            let step = match ask(self.ports, self.tenant, self.scope, self.chat, &request).await {
                Ok(step) => step,
                // What was answered before the correction was asked for stays the answer.
                Err(_) if self.has_answer() => return Ok(Ended::answered(None)),
                Err(error) => return Ok(Ended::failed(error.to_string())),
            };
            if let Some(usage) = step.reply.usage {
                self.gathered.0.usage += usage;
            }
            let words = gather(self.gathered, number, &step);
            let next = if !step.reply.calls.is_empty() {
                let more = number < self.tenant.steps;
                self.work(number, &step.reply, words, &mut stuck, more)
                    .await?
            } else if self.is_silence(&words) && !silent && may_be_asked_again(&step.reply) {
                silent = true;
                Next::Ask
            } else {
                self.conclude(&step, words, number < self.tenant.steps)
                    .await?
            };
            if let Next::End(ended) = next {
                return Ok(ended);
            }
        }
        if self.has_answer() {
            return Ok(Ended::answered(None));
        }
        Ok(Ended {
            end: TurnEnd::StepsExhausted,
            last: None,
        })
    }

    fn has_answer(&self) -> bool {
        self.gathered.0.answer.is_some()
    }

    fn is_silence(&self, words: &str) -> bool {
        words.is_empty()
            && !self.has_answer()
            && !self.gathered.has_files()
            && self.gathered.0.refused.is_empty()
    }

    /// Runs the tools of a step, each after its call is stored.
    async fn work(
        &mut self,
        number: u32,
        reply: &Reply,
        words: String,
        stuck: &mut Stuck,
        more: bool,
    ) -> Result<Next, StoreError> {
        if !words.is_empty() {
            self.gathered.0.beside = words;
        }
        self.write(said(reply)).await?;
        for call in &reply.calls {
            let done = self.call(number, call).await;
            failpoint::point("C2");
            stuck.count(call, &done);
            self.write(done.message(call)).await?;
        }
        if stuck.times < STUCK {
            if more {
                self.take_in().await?;
            }
            return Ok(Next::Ask);
        }
        Ok(Next::End(if self.has_answer() {
            Ended::answered(None)
        } else {
            Ended::failed("the model kept repeating a call that fails")
        }))
    }

    /// A step without calls: the answer, or the correction of one.
    async fn conclude(
        &mut self,
        step: &Step,
        words: String,
        more: bool,
    ) -> Result<Next, StoreError> {
        let first = !self.has_answer();
        if self.is_silence(&words) && self.gathered.0.beside.is_empty() {
            return Ok(Next::End(Ended::failed(silence(&step.reply))));
        }
        let mut answer = self.gathered.0.answer.take().unwrap_or_default();
        add_below(&mut answer, &words);
        if first && words.is_empty() {
            // Words that came beside the last calls are all that the model said: better those than none.
            add_below(&mut answer, &std::mem::take(&mut self.gathered.0.beside));
            if !self.gathered.has_files() && self.gathered.0.refused.is_empty() {
                add_below(
                    &mut answer,
                    "⚠ The model stopped here without a final answer.",
                );
            }
        }
        if step.reply.stop == StopReason::Length {
            add_below(
                &mut answer,
                "⚠ The answer was cut: the model reached its output limit.",
            );
        }
        self.gathered.0.answer = Some(answer);
        let asked = if first && more {
            correction(self.gathered)
        } else {
            None
        };
        match asked {
            Some(request) => {
                // Together: after a crash between them the model would never hear the request that counts as made.
                let request = Message::User {
                    content: vec![Content::Text { text: request }],
                };
                self.write_all(vec![said(&step.reply), request]).await?;
                Ok(Next::Ask)
            }
            None => Ok(Next::End(Ended::answered(Some(said(&step.reply))))),
        }
    }

    /// Write-ahead: durable, with all that is promised by now, before anything follows from it.
    async fn write(&mut self, message: Message) -> Result<(), StoreError> {
        self.write_all(vec![message]).await
    }

    async fn write_all(&mut self, messages: Vec<Message>) -> Result<(), StoreError> {
        let now = self.ports.clock.now();
        self.ports
            .sessions
            .append(self.scope, messages.clone(), &self.gathered.0, now)
            .await?;
        self.transcript.extend(messages);
        Ok(())
    }

    /// Takes in what the person wrote meanwhile and wants to join this turn. Only after a result: between a call and its results
    /// nothing may stand.
    async fn take_in(&mut self) -> Result<(), StoreError> {
        loop {
            let joining = self.seat.joining(self.scope.session());
            if joining.messages.is_empty() {
                return Ok(());
            }
            let mut promised = self.gathered.0.clone();
            let (mut messages, mut events) = (Vec::new(), Vec::new());
            for admitted in &joining.messages {
                let (message, notes) =
                    heard(self.ports, Some(self.tenant), self.scope, admitted).await;
                messages.push(meanwhile(message));
                promised.notes.extend(notes);
                events.push(admitted.heard());
            }
            let now = self.ports.clock.now();
            let taken = self
                .ports
                .sessions
                .take_in(self.scope, events, messages.clone(), &promised, now)
                .await?;
            match taken {
                TakenIn::Yes => {
                    joining.joined();
                    self.gathered.0 = promised;
                    self.transcript.extend(messages);
                    failpoint::point("I3");
                    return Ok(());
                }
                TakenIn::Changed(rows) => joining.changed(rows),
            }
        }
    }

    async fn call(&mut self, number: u32, call: &ToolCall) -> Done {
        self.show(Activity::ToolBegan {
            id: call.id.clone(),
            tool: call.name.clone(),
            detail: tools::detail(call),
        });
        let mut bench = Bench {
            ports: self.ports,
            tenant: self.tenant,
            scope: self.scope,
            seat: self.seat,
            chat: self.chat,
            gathered: self.gathered,
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

/// What a person wrote while the turn ran, as the model reads it.
fn meanwhile(message: Message) -> Message {
    match message {
        Message::User { mut content } => {
            let text = MEANWHILE.to_owned();
            content.insert(0, Content::Text { text });
            Message::User { content }
        }
        other @ (Message::Assistant { .. } | Message::Tool { .. }) => other,
    }
}

fn said(reply: &Reply) -> Message {
    Message::Assistant {
        text: reply.text.clone(),
        calls: reply.calls.clone(),
        replay: reply.replay.clone(),
    }
}

/// Counts how often in a row the same call failed.
#[derive(Default)]
struct Stuck {
    call: Option<ToolCall>,
    times: u32,
}

impl Stuck {
    fn count(&mut self, call: &ToolCall, done: &Done) {
        let same = self
            .call
            .as_ref()
            .is_some_and(|last| last.name == call.name && last.arguments == call.arguments);
        match (done.failed, same) {
            (false, _) => *self = Self::default(),
            (true, true) => self.times += 1,
            (true, false) => {
                *self = Self {
                    call: Some(call.clone()),
                    times: 1,
                }
            }
        }
    }
}

fn may_be_asked_again(reply: &Reply) -> bool {
    match reply.stop {
        StopReason::End | StopReason::ToolUse => true,
        StopReason::Length | StopReason::Refused => false,
    }
}

fn silence(reply: &Reply) -> &'static str {
    match reply.stop {
        StopReason::Length => "the model ran out of output tokens before it said anything",
        StopReason::Refused => "the model refused to answer",
        StopReason::End | StopReason::ToolUse => "the model gave an empty answer",
    }
}
