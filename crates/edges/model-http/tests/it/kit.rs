//! Feeds a stream to a decoder whole, cut at every byte, and in small pieces; each must come to the same.

use model::{Delta, ModelError, Reply, StopReason, ToolCall};
use net::sse;
use proptest::prelude::*;
use serde_json::{Map, Value};
use tidings_model_http::{Decode, Limits, LineDecoder};

/// Pictures of one pixel, in base64.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
pub(crate) const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

pub(crate) const ROUTE: &str = "acme/m-1";

pub(crate) fn limits() -> Limits {
    Limits {
        bytes: 4000,
        calls: 8,
    }
}

/// How a protocol cuts bytes into events.
#[derive(Clone, Copy)]
pub(crate) enum Wire {
    Events,
    Lines,
}

/// A protocol under test.
#[derive(Clone, Copy)]
pub(crate) struct Kit {
    pub(crate) make: fn() -> Box<dyn Decode>,
    pub(crate) wire: Wire,
    /// No stream without one of these words is an answer.
    pub(crate) markers: &'static [&'static str],
}

impl Kit {
    pub(crate) fn decode(self, pieces: &[&[u8]]) -> (Vec<Delta>, Result<Reply, ModelError>) {
        let mut decoder = (self.make)();
        let mut deltas = Vec::new();
        let last = match self.wire {
            Wire::Events => {
                let mut events = sse::Decoder::new(1 << 16);
                for event in pieces.iter().flat_map(|piece| events.feed(piece).unwrap()) {
                    deltas.extend(decoder.feed(&event));
                }
                events.finish().unwrap_or_default()
            }
            Wire::Lines => {
                let mut lines = LineDecoder::new(1 << 16);
                for event in pieces.iter().flat_map(|piece| lines.feed(piece).unwrap()) {
                    deltas.extend(decoder.feed(&event));
                }
                lines.finish()
            }
        };
        if let Some(last) = last {
            deltas.extend(decoder.feed(&last));
        }
        (deltas, decoder.finish())
    }

    pub(crate) fn deltas(self, stream: &str) -> Vec<Delta> {
        self.decode(&[stream.as_bytes()]).0
    }

    pub(crate) fn reply(self, stream: &str) -> Result<Reply, ModelError> {
        let bytes = stream.as_bytes();
        let (deltas, whole) = self.decode(&[bytes]);
        if let Ok(reply) = &whole {
            let (mut text, mut reasoning) = (String::new(), String::new());
            for delta in &deltas {
                match delta {
                    Delta::Text(piece) => text.push_str(piece),
                    Delta::Reasoning(piece) => reasoning.push_str(piece),
                    Delta::Tool(_) => {}
                }
            }
            assert_eq!(
                (&text, &reasoning),
                (&reply.text, &reply.reasoning),
                "the pieces are the whole"
            );
        }
        for at in 0..=bytes.len() {
            let (before, after) = bytes.split_at(at);
            let cut = self.decode(&[before, after]);
            assert_eq!(cut, (deltas.clone(), whole.clone()), "cut at {at}");
            let prefix = String::from_utf8_lossy(before);
            if !self.markers.iter().any(|marker| prefix.contains(marker)) {
                let told = self.decode(&[before]).1;
                assert!(told.is_err(), "no end marker in: {prefix}");
            }
        }
        for size in 1..=7 {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let cut = self.decode(&pieces);
            assert_eq!(cut, (deltas.clone(), whole.clone()), "pieces of {size}");
        }
        whole
    }

    pub(crate) fn broke_off(self, stream: &str) {
        let told = self.reply(stream);
        assert!(
            matches!(told, Err(ModelError::BrokeOff { .. })),
            "{told:?}: {stream}"
        );
    }

    /// What a person reads when the stream ends so.
    pub(crate) fn error(self, stream: &str) -> String {
        self.reply(stream).unwrap_err().to_string()
    }

    pub(crate) fn whole(self, body: &str) -> Result<Reply, ModelError> {
        let mut decoder = (self.make)();
        decoder.feed_whole(body);
        decoder.finish()
    }

    /// Bytes of any kind: nothing panics, and nothing is an answer that lacks the end marker.
    pub(crate) fn bytes_of_any_kind(self, bytes: &[u8]) {
        let (_, told) = self.decode(&[bytes]);
        let text = String::from_utf8_lossy(bytes);
        if !self.markers.iter().any(|marker| text.contains(marker)) {
            assert!(told.is_err(), "{text}");
        }
    }

    /// JSON of any kind: nothing panics.
    pub(crate) fn json_of_any_kind(self, all: &[Value]) {
        let mut decoder = (self.make)();
        for data in all {
            decoder.feed(&sse::Event {
                data: data.to_string(),
                ..sse::Event::default()
            });
        }
        drop(decoder.finish());
        for data in all {
            drop(self.whole(&data.to_string()));
        }
    }
}

pub(crate) fn events(all: impl IntoIterator<Item = Value>) -> String {
    all.into_iter()
        .map(|one| format!("data: {one}\n\n"))
        .collect()
}

pub(crate) fn said(text: &str, stop: StopReason) -> Reply {
    Reply {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        stop,
        usage: None,
        replay: None,
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: Ok(arguments.as_object().unwrap().clone()),
    }
}

/// JSON made of a protocol's own words, so that it comes far.
pub(crate) fn any_json(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::sample::select(words).prop_map(Value::from),
        "[a-z{}\\[\\]\" ]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(words), inner), 0..6).prop_map(
                |fields| fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<Map<_, _>>()
                    .into()
            ),
        ]
    })
}
