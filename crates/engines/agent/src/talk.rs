//! The conversation with the model: calls and tools, until there is an answer or a reason why not.

use chat::Activity;
use model::{Content, Message, Reply, Request, StopReason, ToolCall};
use outbox::StoreError;
use policy::failover::Left;
use session::{TakenIn, TurnEnd, wire_messages};
use waybill::{ChatKey, TurnScope};

use crate::answer::{add_below, correction, gather};
use crate::attach::Gathered;
use crate::compact::Why;
use crate::fill::Fixed;
use crate::guard::{Loops, Verdict};
use crate::ladder::{Ladder, Rung};
use crate::line::Seat;
use crate::route::{Answered, NoAnswer, Route};
use crate::step::{Hearer, Step};
use crate::tools::{Bench, Done};
use crate::turn::{asker, heard};
use crate::{Ports, Tenant, guard, spill, tools};

/// How often a turn makes its conversation shorter. Each time a tenth is won at least.
pub(crate) const MOST_COMPACTIONS: u32 = 8;

/// What stands before words that came while the turn ran.
pub(crate) const MEANWHILE: &str = "[The person wrote this while you were working:]\n";
/// What a model reads that used up its steps.
const SUM_UP: &str = "[gateway] All steps of this turn are used up, and no tool runs any more. Sum up for the person in a few \
                      sentences: what is done, what is not, and what comes next. Don't call tools.";

/// A turn's conversation. What it promised is in `gathered`, whatever becomes of the conversation.
pub(crate) struct Talk<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) tenant: &'a Tenant,
    pub(crate) seat: Seat<'a>,
    pub(crate) scope: &'a TurnScope,
    pub(crate) chat: Option<&'a ChatKey>,
    pub(crate) transcript: Vec<Message>,
    pub(crate) gathered: &'a mut Gathered,
    /// What every request of the turn begins with.
    pub(crate) fixed: Fixed,
    /// How often the conversation was made shorter.
    pub(crate) compactions: u32,
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
        let mut loops = Loops::default();
        let mut route = Route::new(self.seat.routes(), self.tenant);
        let (mut ladder, mut nudge) = (Ladder::default(), None);
        for number in 1..=self.tenant.steps {
            let step = match self.ask(&mut route, nudge.take()).await? {
                Ok(step) => step,
                Err(ended) => return Ok(ended),
            };
            let words = gather(self.gathered, number, &step);
            let more = number < self.tenant.steps;
            let next = if !step.reply.calls.is_empty() {
                ladder = Ladder::default();
                route = Route::new(self.seat.routes(), self.tenant);
                self.work(number, &step.reply, words, &mut loops, more)
                    .await?
            } else if self.is_silence(&words) && more {
                match ladder.climb(&step.reply, route.others()) {
                    Rung::Again => Next::Ask,
                    Rung::Nudge(words) => {
                        nudge = Some(words);
                        Next::Ask
                    }
                    Rung::Next(reason) => {
                        route.pass_over(reason, self.ports.clock.now());
                        Next::Ask
                    }
                    Rung::End(reason) => Next::End(Ended::failed(reason)),
                }
            } else {
                self.conclude(&step, words, more).await?
            };
            if let Next::End(ended) = next {
                return Ok(ended);
            }
        }
        if self.has_answer() {
            return Ok(Ended::answered(None));
        }
        self.sum_up(&mut route).await
    }

    /// Asks, with a line at the end that is not kept; makes room first, and again if the model says that there is none.
    async fn ask(
        &mut self,
        route: &mut Route<'_>,
        nudge: Option<&'static str>,
    ) -> Result<Result<Step, Ended>, StoreError> {
        loop {
            if let Some(reason) = self.make_room(route).await? {
                return Ok(Err(self.without_answer(reason)));
            }
            if let Some(stop) = self.out_of_money() {
                return Ok(Err(stop));
            }
            let request = self.request(nudge);
            let compaction = if self.compactions < MOST_COMPACTIONS {
                Left::Yes
            } else {
                Left::No
            };
            let hearer = Hearer::Person(self.chat);
            let spent = self.gathered.0.spent.clone();
            let asked = route
                .ask(
                    self.ports,
                    self.tenant,
                    self.scope,
                    hearer,
                    &request,
                    compaction,
                    &spent,
                )
                .await;
            self.broke_off(route);
            match asked {
                Ok(answered) => {
                    self.count(&request, &answered);
                    self.gathered.note(answered.note);
                    return Ok(Ok(answered.step));
                }
                Err(NoAnswer::TooLong(reason)) => {
                    if let Some(why) = self.compact(route, Why::TooLong).await? {
                        return Ok(Err(self.without_answer(format!("{reason}; {why}"))));
                    }
                }
                Err(NoAnswer::Failed(reason)) => return Ok(Err(self.without_answer(reason))),
            }
        }
    }

    /// The turn's end, if there is no money for another call.
    fn out_of_money(&self) -> Option<Ended> {
        let spent = &self.gathered.0.spent;
        let stop = self
            .ports
            .purse
            .may_ask(self.scope.profile(), spent)
            .err()?;
        Some(if self.has_answer() {
            Ended::answered(None)
        } else {
            Ended {
                end: TurnEnd::BudgetExhausted {
                    reason: stop.to_string(),
                },
                last: None,
            }
        })
    }

    /// Counts answers that broke off: they are paid for, and nobody says how much.
    pub(crate) fn broke_off(&mut self, route: &mut Route<'_>) {
        let profile = self.scope.profile();
        for model in route.take_broken() {
            self.gathered
                .spend(&self.ports.purse, profile, model.as_ref(), None);
        }
    }

    /// What was answered before a correction was asked for stays the answer.
    fn without_answer(&self, reason: String) -> Ended {
        if self.has_answer() {
            Ended::answered(None)
        } else {
            Ended::failed(reason)
        }
    }

    pub(crate) fn request(&self, nudge: Option<&'static str>) -> Request {
        let mut messages = wire_messages(&self.transcript);
        messages.extend(nudge.map(|text| Message::User {
            content: vec![Content::Text {
                text: text.to_owned(),
            }],
        }));
        self.fixed.request(messages)
    }

    /// Notes what a call cost, and how large its request really was.
    pub(crate) fn count(&mut self, request: &Request, answered: &Answered) {
        let usage = answered.step.reply.usage;
        let model = answered.model.as_ref();
        let profile = self.scope.profile();
        self.gathered
            .spend(&self.ports.purse, profile, model, usage);
        let Some(usage) = usage else {
            return;
        };
        let estimate = self.fixed.estimate(&request.messages);
        self.fixed.measure(estimate, usage.input);
        let route = answered.model.name();
        self.seat
            .fills()
            .note(self.scope.session().id(), route, usage);
    }

    /// The turn is out of steps: one more call, in which nothing runs, tells the person how far it came.
    async fn sum_up(&mut self, route: &mut Route<'_>) -> Result<Ended, StoreError> {
        let exhausted = |last| {
            Ok(Ended {
                end: TurnEnd::StepsExhausted,
                last,
            })
        };
        let step = match self.ask(route, Some(SUM_UP)).await? {
            Ok(step) => step,
            Err(_without) => return exhausted(None),
        };
        let words = gather(self.gathered, self.tenant.steps, &step);
        if words.is_empty() {
            return exhausted(None);
        }
        self.gathered.0.answer = Some(words.clone());
        exhausted(Some(Message::Assistant {
            text: words,
            calls: Vec::new(),
            replay: None,
        }))
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
        loops: &mut Loops,
        more: bool,
    ) -> Result<Next, StoreError> {
        if !words.is_empty() {
            self.gathered.0.beside = words;
        }
        self.write(said(reply)).await?;
        let mut halt = None;
        for call in &reply.calls {
            let mut done = self.call(number, call).await;
            failpoint::point("C2");
            match loops.count(call, &done) {
                Verdict::Go => {}
                Verdict::Warn(warning) => done.text = format!("{}\n\n{warning}", done.text),
                Verdict::Halt(reason) => halt = Some(reason),
            }
            let most = self.fixed.window().result();
            self.write(done.message(call, most)).await?;
        }
        let Some(reason) = halt else {
            if more {
                self.take_in().await?;
            }
            return Ok(Next::Ask);
        };
        Ok(Next::End(if self.has_answer() {
            Ended::answered(None)
        } else {
            Ended {
                end: TurnEnd::Halted { reason },
                last: None,
            }
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
        if self.is_silence(&words) {
            return Ok(Next::End(Ended::failed(
                "the model gave an empty answer in its last step",
            )));
        }
        let mut answer = self.gathered.0.answer.take().unwrap_or_default();
        add_below(&mut answer, &words);
        if first && words.is_empty() {
            // The files are the answer, and what was said beside the calls that made them belongs to them.
            add_below(&mut answer, &std::mem::take(&mut self.gathered.0.beside));
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
                promised.labels = promised.labels.with(guard::of_message(&admitted.inbound));
                let asker = asker(&admitted.inbound);
                if !promised.askers.contains(&asker) {
                    promised.askers.push(asker);
                }
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
        let most = self.fixed.window().result();
        let mut bench = Bench {
            room: most,
            ports: self.ports,
            tenant: self.tenant,
            scope: self.scope,
            seat: self.seat,
            chat: self.chat,
            transcript: &self.transcript,
            gathered: self.gathered,
            step: number,
        };
        let done = bench.run(call).await;
        let done = spill::kept(self.ports, self.tenant, self.scope, call, done, most).await;
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
