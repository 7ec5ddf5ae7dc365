//! One model call: the stream is shown as it grows, known secrets are taken out of it before anybody reads it, and files are
//! captured the moment their directive is complete.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chat::Preview;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use markup::{DirectiveParser, Parsed, Piece, ReasoningFilter};
use model::{Delta, ModelError, Reply, Request};
use tokio::sync::mpsc;
use tokio::time::Instant;
use waybill::{ChatKey, TurnScope};

use crate::attach::{MOST, Resolved, resolve, too_many};
use crate::{Ports, Tenant, redaction};

/// Shortest time between two previews.
const FRAME: Duration = Duration::from_millis(80);
/// Tries of one model call; a stream that broke off is asked for again, since nothing ran in between.
const TRIES: u32 = 3;
/// First wait between tries; doubled each time.
const REST: Duration = Duration::from_millis(500);
/// Longest wait that a provider may ask for and still be obeyed inside a turn.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Files that are copied out at once.
const AT_ONCE: usize = 4;

/// What a model call came to.
pub(crate) struct Step {
    /// The reply, directives and all, for the transcript.
    pub(crate) reply: Reply,
    /// The reply's words, parsed.
    pub(crate) parsed: Parsed,
    /// What became of each directive, in order.
    pub(crate) resolved: Vec<Resolved>,
}

/// Asks the model, again where that can help.
pub(crate) async fn ask(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    chat: Option<&ChatKey>,
    request: &Request,
) -> Result<Step, ModelError> {
    let mut rest = REST;
    for attempt in 1.. {
        let error = match ask_once(ports, tenant, scope, chat, request).await {
            Ok(step) => return Ok(step),
            Err(error) => error,
        };
        let wait = match &error {
            ModelError::Throttled {
                after: Some(after), ..
            } => *after,
            ModelError::Throttled { after: None, .. }
            | ModelError::Unreachable { .. }
            | ModelError::Key { .. }
            | ModelError::TooLong { .. }
            | ModelError::Refused { .. }
            | ModelError::Failed { .. }
            | ModelError::BrokeOff { .. }
            | ModelError::Silent { .. } => rest,
        };
        tracing::warn!(turn = %scope.turn(), attempt, %error, "the model did not answer");
        if !error.is_passing() || attempt >= TRIES || wait > LONGEST_REST {
            return Err(error);
        }
        tokio::time::sleep(wait).await;
        rest *= 2;
    }
    unreachable_end()
}

/// `1..` does not end; this gives the loop's end a value without a panic.
fn unreachable_end() -> Result<Step, ModelError> {
    Err(ModelError::Failed {
        provider: "the model".to_owned(),
        cause: "no attempt was made".to_owned(),
    })
}

async fn ask_once(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    chat: Option<&ChatKey>,
    request: &Request,
) -> Result<Step, ModelError> {
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
        let reply = tenant.model.ask(request, &mut sink).await;
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
