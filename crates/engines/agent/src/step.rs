//! One model call: the stream is shown as it grows, known secrets are taken out of it before anybody reads it, and files are
//! captured the moment their directive is complete.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chat::Preview;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use markup::{DirectiveParser, Parsed, Piece, ReasoningFilter};
use model::{Content, Delta, Message, ModelError, ModelPort, Reply, Request, StopReason, Usage};
use session::Spent;
use tokio::sync::mpsc;
use tokio::time::Instant;
use waybill::{ChatKey, TurnScope};

use crate::attach::{MOST, Resolved, resolve, too_many};
use crate::{Ports, Tenant, redaction};

/// Shortest time between two previews.
const FRAME: Duration = Duration::from_millis(80);
/// How often an answer that was cut is gone on with. Each time the model has its whole output limit again.
const MOST_CONTINUATIONS: u32 = 3;
/// What a model reads whose answer was cut.
const GO_ON: &str = "[gateway] Your answer was cut by your output limit. Go on exactly where it stopped: no introduction, no repetition.";

/// Files that are copied out at once.
const AT_ONCE: usize = 4;

/// Who hears an answer while it grows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hearer<'a> {
    /// The person in this chat, if the turn has one. Files that the answer names are captured.
    Person(Option<&'a ChatKey>),
    /// Nobody: the words are the gateway's own notes.
    Nobody,
}

/// What a model call came to.
pub(crate) struct Step {
    /// The reply, directives and all, for the transcript.
    pub(crate) reply: Reply,
    /// The reply's words, parsed.
    pub(crate) parsed: Parsed,
    /// What became of each directive, in order.
    pub(crate) resolved: Vec<Resolved>,
}

/// Asks one model once; an answer that its output limit cut is gone on with.
pub(crate) async fn ask(
    ports: &Ports,
    tenant: &Tenant,
    model: &dyn ModelPort,
    scope: &TurnScope,
    hearer: Hearer<'_>,
    request: &Request,
    spent: &[Spent],
) -> Result<Step, ModelError> {
    let chat = match hearer {
        Hearer::Person(chat) => chat,
        Hearer::Nobody => return unheard(ports, model, request).await,
    };
    let (pieces_in, mut pieces_out) = mpsc::unbounded_channel();
    let mut shown = Shown {
        ports,
        chat,
        text: String::new(),
        last: None,
    };
    let mut stream = Stream {
        clean: redact::Stream::new(Arc::clone(&ports.redactor)),
        reasoning: ReasoningFilter::new(),
        directives: DirectiveParser::new(),
        out: pieces_in,
    };
    let asking = async {
        let mut sink = |delta: Delta| match delta {
            Delta::Text(text) => {
                let words = stream.feed(&text);
                shown.add(&words);
            }
            Delta::Reasoning(_) | Delta::Tool(_) => {}
        };
        // Going on is another call, and needs money like the first.
        let may_go_on = |usage| {
            let mut spent = spent.to_vec();
            Spent::count(&mut spent, model.name(), usage, model.facts().price);
            ports.purse.may_ask(scope.profile(), &spent).is_ok()
        };
        let reply = whole(model, request, &may_go_on, &mut sink).await;
        stream.finish();
        reply
    };
    // Captures run while the model still talks: the sandbox may be gone right after its last word.
    let capturing = async {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut waiting = VecDeque::new();
        let mut captures = FuturesOrdered::new();
        let mut resolved = Vec::new();
        let mut directives = 0;
        let mut open = true;
        while open || !captures.is_empty() {
            tokio::select! {
                piece = pieces_out.recv(), if open => match piece {
                    Some(Piece::Attach(directive)) => {
                        pieces.push(Piece::Attach(directive.clone()));
                        directives += 1;
                        waiting.push_back((directives, directive));
                    }
                    Some(piece @ (Piece::Text(_) | Piece::Flag(_))) => pieces.push(piece),
                    None => open = false,
                },
                Some(one) = captures.next(), if !captures.is_empty() => resolved.push(one),
            }
            while captures.len() < AT_ONCE
                && let Some((number, directive)) = waiting.pop_front()
            {
                captures.push_back(async move {
                    if number > MOST {
                        return too_many(&directive);
                    }
                    resolve(ports, tenant, scope, &directive).await
                });
            }
        }
        (Parsed::collect(pieces), resolved)
    };
    let (reply, (parsed, resolved)) = tokio::join!(asking, capturing);
    Ok(Step {
        reply: redaction::reply(&ports.redactor, reply?),
        parsed,
        resolved,
    })
}

async fn unheard(
    ports: &Ports,
    model: &dyn ModelPort,
    request: &Request,
) -> Result<Step, ModelError> {
    let reply = model.ask(request, &mut |_delta| {}).await?;
    Ok(Step {
        reply: redaction::reply(&ports.redactor, reply),
        parsed: Parsed::collect(Vec::new()),
        resolved: Vec::new(),
    })
}

/// The whole answer, as far as going on with it helps. What went before a call that fails is kept.
async fn whole(
    model: &dyn ModelPort,
    request: &Request,
    may_go_on: &(dyn Fn(Option<Usage>) -> bool + Sync),
    sink: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, ModelError> {
    let mut reply = model.ask(request, &mut *sink).await?;
    for _ in 0..MOST_CONTINUATIONS {
        let cut = reply.stop == StopReason::Length && reply.calls.is_empty();
        if !cut || reply.text.trim().is_empty() || !may_go_on(reply.usage) {
            break;
        }
        let mut said = String::new();
        let mut hear = |delta: Delta| {
            if let Delta::Text(text) = &delta {
                said.push_str(text);
            }
            sink(delta);
        };
        match model.ask(&further(request, &reply.text), &mut hear).await {
            Ok(more) => go_on(&mut reply, more),
            Err(error) => {
                tracing::warn!(model = model.name(), %error, "an answer that was cut could not be gone on with");
                reply.text.push_str(&said);
                break;
            }
        }
    }
    Ok(reply)
}

/// The same request, and what was answered so far.
fn further(request: &Request, so_far: &str) -> Request {
    let mut request = request.clone();
    request.messages.push(Message::Assistant {
        // Some providers refuse an answer that ends in blanks.
        text: so_far.trim_end().to_owned(),
        calls: Vec::new(),
        replay: None,
    });
    request.messages.push(Message::User {
        content: vec![Content::Text {
            text: GO_ON.to_owned(),
        }],
    });
    request
}

fn go_on(reply: &mut Reply, more: Reply) {
    reply.text.push_str(&more.text);
    reply.reasoning.push_str(&more.reasoning);
    reply.calls = more.calls;
    reply.stop = more.stop;
    reply.replay = more.replay;
    if let Some(usage) = more.usage {
        *reply.usage.get_or_insert_default() += usage;
    }
}

/// Deltas on their way to pieces: the one place where a model's words become ours.
struct Stream {
    clean: redact::Stream,
    reasoning: ReasoningFilter,
    directives: DirectiveParser,
    out: mpsc::UnboundedSender<Piece>,
}

impl Stream {
    /// Feeds a delta; returns the words that may be shown now.
    fn feed(&mut self, delta: &str) -> String {
        let clean = self.clean.feed_text(delta);
        let visible = self.reasoning.feed(&clean);
        let pieces = self.directives.feed(&visible);
        self.hand_on(pieces)
    }

    /// Ends the stream; dropping the sender tells the other side.
    fn finish(mut self) {
        let mut visible = self.reasoning.feed(&self.clean.finish_text());
        visible.push_str(&std::mem::take(&mut self.reasoning).finish());
        let mut pieces = self.directives.feed(&visible);
        pieces.extend(std::mem::take(&mut self.directives).finish());
        self.hand_on(pieces);
    }

    fn hand_on(&self, pieces: Vec<Piece>) -> String {
        let mut words = String::new();
        for piece in pieces {
            if let Piece::Text(text) = &piece {
                words.push_str(text);
            }
            if self.out.send(piece).is_err() {
                tracing::debug!("nobody reads the stream any more");
            }
        }
        words
    }
}

/// The answer as it is shown while it grows.
struct Shown<'a> {
    ports: &'a Ports,
    chat: Option<&'a ChatKey>,
    text: String,
    last: Option<Instant>,
}

impl Shown<'_> {
    fn add(&mut self, words: &str) {
        self.text.push_str(words);
        let due = self.last.is_none_or(|last| last.elapsed() >= FRAME);
        if let Some(chat) = self.chat
            && due
            && !self.text.trim().is_empty()
        {
            self.last = Some(Instant::now());
            self.ports
                .outlet
                .preview(chat, Preview::Text(self.text.clone()));
        }
    }
}
