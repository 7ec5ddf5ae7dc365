//! What a provider's refusal teaches. A request that was refused as malformed was never worked on, so asking differently is no second
//! attempt at the same one.

use serde_json::Value;

use crate::codec::{Api, Shape};
use crate::gemini::Unsigned;
use crate::openai_chat::Effort;
use crate::openai_responses::Sealed;

/// Another way to ask, after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remedy {
    /// How to ask.
    pub(crate) shape: Shape,
    /// Whether the next request is asked so as well.
    pub(crate) lasts: bool,
}

/// How to ask instead of `shape`; `None` if nothing would help.
pub(crate) fn after(api: Api, shape: Shape, status: u16, body: &str) -> Option<Remedy> {
    if status != 400 {
        return None;
    }
    let said = body.to_lowercase();
    let lasting = |shape| Remedy { shape, lasts: true };
    let remedy = match api {
        // Newer reasoning models of one vendor refuse tools over this protocol unless they are told not to reason.
        Api::OpenaiChat
            if said.contains("reasoning_effort")
                && (said.contains("not supported") || said.contains("none")) =>
        {
            lasting(Shape {
                effort: Effort::None,
                ..shape
            })
        }
        Api::OpenaiResponses
            if said.contains("encrypted content is not supported") || said.contains("'include") =>
        {
            lasting(Shape {
                sealed: Sealed::Unwanted,
                ..shape
            })
        }
        Api::Gemini if says_signature(&said) && said.contains("missing") => lasting(Shape {
            unsigned: Unsigned::Excused,
            ..shape
        }),
        Api::Anthropic if most_output(body).is_some_and(|most| most < shape.max_output) => {
            lasting(Shape {
                max_output: most_output(body).unwrap_or(shape.max_output),
                ..shape
            })
        }
        Api::Anthropic | Api::Gemini | Api::OpenaiResponses | Api::OpenaiChat
            if refuses_replay(&said) =>
        {
            Remedy {
                shape: Shape {
                    replays: false,
                    unsigned: Unsigned::Excused,
                    ..shape
                },
                lasts: false,
            }
        }
        Api::OpenaiChat | Api::OpenaiResponses | Api::Anthropic | Api::Ollama | Api::Gemini => {
            return None;
        }
    };
    (remedy.shape != shape).then_some(remedy)
}

fn says_signature(said: &str) -> bool {
    said.contains("thought_signature")
        || said.contains("thought signature")
        || said.contains("thoughtsignature")
}

/// A key, an account or a model behind the name was changed: what was sealed can't be opened any more.
fn refuses_replay(said: &str) -> bool {
    says_signature(said)
        || [
            "thinking",
            "encrypted_content",
            "encrypted content",
            "reasoning_content",
            "of type 'reasoning'",
        ]
        .iter()
        .any(|words| said.contains(words))
        || (said.contains("signature") && said.contains("invalid"))
}

/// `max_tokens: 32000 > 8192, which is …`: the model's own bound.
fn most_output(body: &str) -> Option<u32> {
    let body: Value = serde_json::from_str(body).ok()?;
    let message = body.pointer("/error/message")?.as_str()?;
    let after = message.strip_prefix("max_tokens: ")?.split_once("> ")?.1;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|most| *most > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        effort: Effort::Unsaid,
        sealed: Sealed::Wanted,
        unsigned: Unsigned::Plain,
        max_output: 32_000,
        context: 32_768,
        replays: true,
    };

    fn shape(api: Api, body: &str) -> Option<Shape> {
        after(api, SHAPE, 400, body).map(|remedy| remedy.shape)
    }

    #[test]
    fn a_model_with_a_smaller_bound_is_asked_within_it() {
        let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 8192, which is the most that m-1 writes"}}"#;
        let expected = Shape {
            max_output: 8192,
            ..SHAPE
        };
        assert_eq!(shape(Api::Anthropic, body), Some(expected));
        assert_eq!(
            after(Api::Anthropic, expected, 400, body),
            None,
            "asked once"
        );
        assert_eq!(after(Api::Anthropic, SHAPE, 500, body), None);
    }

    #[test]
    fn what_can_not_be_replayed_is_left_out_for_this_request() {
        for (api, body) in [
            (
                Api::Anthropic,
                r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#,
            ),
            (
                Api::OpenaiResponses,
                r#"{"error":{"code":"invalid_encrypted_content","message":"could not be verified"}}"#,
            ),
            (
                Api::Gemini,
                r#"{"error":{"code":400,"message":"Corrupted thought signature."}}"#,
            ),
            (
                Api::OpenaiChat,
                r#"{"error":{"message":"unknown field reasoning_content"}}"#,
            ),
        ] {
            let remedy = after(api, SHAPE, 400, body).unwrap();
            assert!(!remedy.shape.replays && !remedy.lasts, "{body}");
            assert_eq!(after(api, remedy.shape, 400, body), None, "{body}");
        }
    }

    #[test]
    fn a_signature_that_is_missing_is_excused() {
        let body = r#"{"error":{"message":"Function call is missing a thought_signature in functionCall parts."}}"#;
        let told = shape(Api::Gemini, body).unwrap();
        assert_eq!((told.unsigned, told.replays), (Unsigned::Excused, true));
    }

    #[test]
    fn a_model_that_does_not_reason_is_not_asked_for_reasoning() {
        let body = r#"{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}"#;
        assert_eq!(
            shape(Api::OpenaiResponses, body).map(|shape| shape.sealed),
            Some(Sealed::Unwanted)
        );
    }

    #[test]
    fn other_refusals_are_final() {
        for api in [
            Api::OpenaiChat,
            Api::OpenaiResponses,
            Api::Anthropic,
            Api::Ollama,
            Api::Gemini,
        ] {
            for body in [
                "",
                "{}",
                r#"{"error":{"message":"max_tokens: many > few"}}"#,
                r#"{"error":"no such model"}"#,
            ] {
                assert_eq!(shape(api, body), None, "{api:?} {body}");
            }
        }
    }
}
