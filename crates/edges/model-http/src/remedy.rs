//! What a provider's refusal teaches. A request that was refused as malformed was never worked on, so asking differently is no second
//! attempt at the same one.

use serde_json::Value;

use crate::codec::{Api, Shape};
use crate::gemini::Unsigned;
use crate::manner::{Eyes, Form, Manner};
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
    let said = body.to_lowercase();
    if let Some(remedy) = without_pictures(shape, status, &said) {
        return Some(remedy);
    }
    if status != 400 {
        return None;
    }
    if let Some(remedy) = thinking_otherwise(api, shape, &said) {
        return Some(remedy);
    }
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

/// What is said of a model that sees nothing. Routers answer with 404, one local server with 500.
const BLIND: &[&str] = &[
    "support image",
    "support vision",
    "support multimodal",
    "supports image",
    "images are not supported",
    "image input is not supported",
    "image_url is only supported",
    "variant `image_url`",
    "accept image",
    "not a multimodal",
    "mmproj",
    "required for image input",
];

/// What is said of a picture that was not taken.
const PICTURE: &[&str] = &[
    "process image",
    "process input image",
    "invalid image",
    "invalid_image",
    "unsupported image",
    "decode image",
    "image exceeds",
    "image dimensions",
    "image is too large",
    "image size",
    "too many images",
    "load image",
    "image data",
];

/// Words in place of pictures: from now on if the model sees nothing, for this request if it is one of them that is not taken. A bad
/// picture stays in the conversation, and must not end it.
fn without_pictures(shape: Shape, status: u16, said: &str) -> Option<Remedy> {
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let blind = says(BLIND);
    let refused = matches!(status, 400 | 404 | 413 | 415 | 422 | 500) && (blind || says(PICTURE));
    if !refused || shape.manner.eyes == Eyes::Shut {
        return None;
    }
    let manner = Manner {
        eyes: Eyes::Shut,
        ..shape.manner
    };
    Some(Remedy {
        shape: Shape { manner, ..shape },
        lasts: blind,
    })
}

/// The wish how hard to think, in another form or not at all.
fn thinking_otherwise(api: Api, shape: Shape, said: &str) -> Option<Remedy> {
    shape.manner.wish()?;
    let says = |words: &str| said.contains(words);
    let form = match api {
        // Whoever names `none` takes that: it is tried first, below.
        Api::OpenaiChat if says("reasoning_effort") && !says("none") => Form::Unsaid,
        Api::OpenaiResponses if says("reasoning.effort") || says("reasoning_effort") => {
            Form::Unsaid
        }
        // What is kept of earlier thoughts is at fault, not the wish.
        Api::Anthropic | Api::Gemini if says_signature(said) || says("signature") => return None,
        // An earlier step was taken without thoughts, by another model perhaps; the next turn can have some again.
        Api::Anthropic
            if says("expected `thinking`") || says("must start with a thinking block") =>
        {
            let manner = Manner {
                form: Form::Unsaid,
                ..shape.manner
            };
            return Some(Remedy {
                shape: Shape { manner, ..shape },
                lasts: false,
            });
        }
        Api::Anthropic if says("thinking") || says("output_config") || says("effort") => {
            shape.manner.form.next()
        }
        Api::Gemini if says("thinking") => shape.manner.form.next(),
        Api::Ollama if says("support thinking") => Form::Unsaid,
        Api::Ollama if says("think") => shape.manner.form.next(),
        Api::OpenaiChat | Api::OpenaiResponses | Api::Anthropic | Api::Ollama | Api::Gemini => {
            return None;
        }
    };
    let manner = Manner {
        form,
        ..shape.manner
    };
    Some(Remedy {
        shape: Shape { manner, ..shape },
        lasts: true,
    })
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
        manner: Manner {
            thinking: None,
            form: Form::Newer,
            eyes: Eyes::Open,
        },
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
    fn a_model_that_sees_nothing_gets_words_from_now_on_and_a_bad_picture_costs_one_request() {
        for (status, words, lasts) in [
            (404, "No endpoints found that support image input", true),
            (400, "This model does not support images", true),
            (400, "unknown variant `image_url`, expected `text`", true),
            (
                500,
                "image input is not supported - hint: you may need to provide the mmproj",
                true,
            ),
            (
                400,
                "this model is missing data required for image input",
                true,
            ),
            (
                400,
                "messages.0.content.1.image: Could not process image",
                false,
            ),
            (
                400,
                "image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
                false,
            ),
            (400, "Unable to process input image. Please retry", false),
            (400, "You uploaded an unsupported image.", false),
        ] {
            for api in [
                Api::OpenaiChat,
                Api::OpenaiResponses,
                Api::Anthropic,
                Api::Ollama,
                Api::Gemini,
            ] {
                let remedy = after(api, SHAPE, status, words).unwrap();
                assert_eq!(
                    (remedy.shape.manner.eyes, remedy.lasts),
                    (Eyes::Shut, lasts),
                    "{words}"
                );
                assert_eq!(after(api, remedy.shape, status, words), None, "{words}");
            }
            assert_eq!(after(Api::OpenaiChat, SHAPE, 429, words), None);
        }
    }

    #[test]
    fn a_wish_that_a_model_does_not_know_is_put_otherwise_and_then_dropped() {
        let wishing = |form| Shape {
            manner: Manner {
                thinking: Some(crate::manner::Thinking::High),
                form,
                eyes: Eyes::Open,
            },
            ..SHAPE
        };
        for (api, form, words, next) in [
            (
                Api::OpenaiChat,
                Form::Newer,
                "Unrecognized request argument supplied: reasoning_effort",
                Form::Unsaid,
            ),
            (
                Api::OpenaiResponses,
                Form::Newer,
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                Form::Unsaid,
            ),
            (
                Api::Anthropic,
                Form::Newer,
                "adaptive thinking is not supported on this model",
                Form::Older,
            ),
            (
                Api::Anthropic,
                Form::Newer,
                "output_config: Extra inputs are not permitted",
                Form::Older,
            ),
            (
                Api::Anthropic,
                Form::Older,
                "thinking: this model does not support extended thinking",
                Form::Unsaid,
            ),
            (
                Api::Gemini,
                Form::Newer,
                "Thinking level is not supported for this model.",
                Form::Older,
            ),
            (
                Api::Gemini,
                Form::Older,
                "Budget 24576 is invalid: thinking is not supported",
                Form::Unsaid,
            ),
            (
                Api::Ollama,
                Form::Newer,
                "json: cannot unmarshal string into Go struct field ChatRequest.think of type bool",
                Form::Older,
            ),
            (
                Api::Ollama,
                Form::Newer,
                "\"llama3\" does not support thinking",
                Form::Unsaid,
            ),
        ] {
            let remedy = after(api, wishing(form), 400, words).unwrap();
            assert_eq!(
                (remedy.shape.manner.form, remedy.lasts),
                (next, true),
                "{words}"
            );
            assert!(remedy.shape.replays, "{words}");
        }
        let told = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
        let remedy = after(Api::Anthropic, wishing(Form::Older), 400, told).unwrap();
        assert_eq!(
            (remedy.shape.manner.form, remedy.lasts),
            (Form::Unsaid, false)
        );
        let told = "messages.1.content.0: Invalid `signature` in `thinking` block";
        let remedy = after(Api::Anthropic, wishing(Form::Newer), 400, told).unwrap();
        assert_eq!(
            (remedy.shape.manner.form, remedy.shape.replays),
            (Form::Newer, false)
        );
        let told = "Function tools with reasoning_effort are not supported; set it to 'none'.";
        let remedy = after(Api::OpenaiChat, wishing(Form::Newer), 400, told).unwrap();
        assert_eq!(
            (remedy.shape.effort, remedy.shape.manner.form),
            (Effort::None, Form::Newer)
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
