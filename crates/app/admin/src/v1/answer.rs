//! What an answer looks like on the wire.

use chat::{Body, Op};
use outbox::PartState;
use sandbox::ArtifactRef;
use serde_json::{Map, Value, json};
use session::{AnswerPart, TurnAnswer, TurnEnd};

use super::Refusal;

/// What is the same in all that is said of one request.
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) created: i64,
    /// Where files are asked for.
    pub(crate) files_at: String,
}

/// An answer, put together from the parts that were delivered.
pub(crate) struct Told {
    pub(crate) text: String,
    attachments: Vec<Value>,
    usage: Value,
    about: Value,
}

/// Puts an answer together.
///
/// # Errors
/// The turn failed: the refusal has the sentence that a person would read.
pub(crate) fn tell(answer: &TurnAnswer, made: &Made) -> Result<Told, Refusal> {
    if answer.parts.iter().any(|part| part.forgotten) {
        return Err(Refusal::gone(
            "the request was answered, and its answer is kept no longer",
        ));
    }
    let mut blocks = Vec::new();
    let mut attachments = Vec::new();
    for part in &answer.parts {
        block(part, made, &mut blocks, &mut attachments);
    }
    let text = blocks.join("\n\n");
    if let TurnEnd::Failed { reason } = &answer.end {
        return Err(Refusal::failed(if text.is_empty() {
            reason.clone()
        } else {
            text
        }));
    }
    let usage = answer.usage;
    Ok(Told {
        text,
        attachments,
        usage: json!({
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input.saturating_add(usage.output),
            "prompt_tokens_details": { "cached_tokens": usage.cached },
        }),
        about: json!({ "turn": answer.turn, "end": answer.end.name() }),
    })
}

fn block(part: &AnswerPart, made: &Made, blocks: &mut Vec<String>, attachments: &mut Vec<Value>) {
    match part.state {
        PartState::Failed | PartState::Expired | PartState::Cancelled | PartState::Held => {
            let reason = part
                .fault
                .as_ref()
                .map_or("it was given up", |fault| fault.text.as_str());
            blocks.push(outbox::undelivered(&part.op, reason));
            return;
        }
        PartState::Superseded => return,
        PartState::Queued
        | PartState::Sending
        | PartState::Retry
        | PartState::Unknown
        | PartState::Sent => {}
    }
    match &part.op {
        Op::Text(body) | Op::Question { body, .. } => blocks.push(body.text().to_owned()),
        Op::File {
            artifact, caption, ..
        } => {
            let (id, url) = address(artifact, made);
            let mark = if artifact.blob.mime.starts_with("image/") {
                "!"
            } else {
                ""
            };
            blocks.push(format!("{mark}[{}]({url})", escaped(&artifact.name)));
            let caption = caption.as_ref().map(Body::text);
            blocks.extend(caption.map(str::to_owned));
            attachments.push(json!({
                "id": id,
                "name": artifact.name,
                "bytes": artifact.blob.size,
                "type": artifact.blob.mime,
                "caption": caption,
                "url": url,
            }));
        }
    }
}

fn address(artifact: &ArtifactRef, made: &Made) -> (String, String) {
    let id = format!("file-{}", artifact.blob.hash);
    let url = format!("{}/{id}/content", made.files_at);
    (id, url)
}

/// A name that can't end the link that it stands in.
fn escaped(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for sign in name.chars() {
        if matches!(sign, '[' | ']' | '\\' | '`' | '<' | '!' | '*' | '_') {
            safe.push('\\');
        }
        safe.push(if sign.is_control() { ' ' } else { sign });
    }
    safe
}

impl Told {
    /// The whole answer.
    pub(crate) fn completion(&self, made: &Made) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.text.clone().into());
        message.insert("refusal".to_owned(), Value::Null);
        if !self.attachments.is_empty() {
            message.insert("attachments".to_owned(), self.attachments.clone().into());
        }
        json!({
            "id": made.id,
            "object": "chat.completion",
            "created": made.created,
            "model": made.model,
            "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": "stop" }],
            "usage": self.usage,
            "tidings": self.about,
        })
    }

    /// The piece that ends a stream.
    pub(crate) fn last(&self, made: &Made) -> Value {
        let mut delta = Map::new();
        if !self.attachments.is_empty() {
            delta.insert("attachments".to_owned(), self.attachments.clone().into());
        }
        let mut chunk = made.chunk(Value::Object(delta), Value::from("stop"));
        chunk["tidings"] = self.about.clone();
        chunk
    }

    /// What it cost, after the end.
    pub(crate) fn cost(&self, made: &Made) -> Value {
        let mut chunk = made.chunk(json!({}), Value::Null);
        chunk["choices"] = json!([]);
        chunk["usage"] = self.usage.clone();
        chunk
    }
}

impl Made {
    /// A piece of a stream.
    pub(crate) fn chunk(&self, delta: Value, finish: Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
        })
    }
}

#[cfg(test)]
mod tests {
    use chat::{Fault, FaultKind, IdempotencyKey, Shape};
    use sandbox::{Blob, ContentHash, Taken};
    use waybill::TurnId;

    use super::*;

    fn part(op: Op, state: PartState) -> AnswerPart {
        AnswerPart {
            key: IdempotencyKey::new([1; 16]),
            op,
            state,
            fault: (state == PartState::Failed)
                .then(|| Fault::new(FaultKind::PermItem, "the bytes are gone")),
            forgotten: false,
        }
    }

    fn text(words: &str) -> Op {
        Op::Text(Body::Markdown(words.to_owned()))
    }

    fn file(name: &str, mime: &str) -> Op {
        Op::File {
            artifact: ArtifactRef {
                profile: "p".parse().unwrap(),
                blob: Blob {
                    hash: ContentHash::new([7; 32]),
                    size: 3,
                    mime: mime.to_owned(),
                },
                name: name.to_owned(),
                taken: Taken::Received,
            },
            shape: Shape::Document,
            caption: Some(Body::Markdown("under it".to_owned())),
        }
    }

    fn told(parts: Vec<AnswerPart>, end: TurnEnd) -> Result<Value, Value> {
        let made = Made {
            id: "chatcmpl-1".to_owned(),
            model: "p".to_owned(),
            created: 1,
            files_at: "http://h/v1/files".to_owned(),
        };
        let answer = TurnAnswer {
            turn: TurnId::fresh(&testkit::clock::CountingIds::default()),
            end,
            usage: model::Usage {
                input: 5,
                cached: 2,
                output: 3,
            },
            parts,
            at: waybill::Timestamp::UNIX_EPOCH,
        };
        tell(&answer, &made)
            .map(|told| told.completion(&made))
            .map_err(|refusal| refusal.body())
    }

    #[test]
    fn words_and_files_come_in_order_and_a_file_that_failed_has_its_reason() {
        let parts = vec![
            part(text("There."), PartState::Sent),
            part(file("a[1].png", "image/png"), PartState::Sending),
            part(file("b.csv", "text/csv"), PartState::Failed),
        ];
        let told = told(parts, TurnEnd::Answered).unwrap();
        let message = &told["choices"][0]["message"];
        let content = message["content"].as_str().unwrap();
        let hash = "07".repeat(32);
        assert_eq!(
            content,
            format!(
                "There.\n\n![a\\[1\\].png](http://h/v1/files/file-{hash}/content)\n\nunder it\n\n⚠ b.csv could not be delivered: the bytes are gone"
            )
        );
        assert_eq!(message["attachments"].as_array().unwrap().len(), 1);
        assert_eq!(message["attachments"][0]["bytes"], 3);
        assert_eq!(told["usage"]["total_tokens"], 8);
        assert_eq!(told["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
    }

    #[test]
    fn a_turn_that_failed_is_an_error_with_the_sentence_and_a_stopped_one_is_not() {
        let sentence = "⚠ I could not answer: the model is away.";
        let failed = TurnEnd::Failed {
            reason: "the model is away".to_owned(),
        };
        let error = told(vec![part(text(sentence), PartState::Sent)], failed).unwrap_err();
        assert_eq!(error["error"]["message"], sentence);
        assert_eq!(error["error"]["code"], "turn_failed");
        let stopped = told(
            vec![part(text("⏹ Stopped."), PartState::Sent)],
            TurnEnd::Interrupted,
        );
        let stopped = stopped.unwrap();
        assert_eq!(stopped["choices"][0]["finish_reason"], "stop");
        assert_eq!(stopped["tidings"]["end"], "interrupted");
    }

    #[test]
    fn an_answer_that_is_kept_no_longer_is_said_to_be_gone() {
        let mut gone = part(text(""), PartState::Sent);
        gone.forgotten = true;
        assert_eq!(
            told(vec![gone], TurnEnd::Answered).unwrap_err()["error"]["code"],
            "answer_gone"
        );
    }
}
