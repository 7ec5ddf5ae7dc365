//! Server-sent events, decoded from bytes as they come. No I/O.
//!
//! Bytes are cut into lines first and only whole lines become text, so that it does not matter where the network cut them.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// `event:`; empty if there was none.
    pub kind: String,
    /// `data:`, its lines joined with line feeds.
    pub data: String,
    /// `id:`, if this event had one.
    pub id: Option<String>,
}

/// Why a stream of events can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event (or a line) is too large.
    #[error("an event is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The stream ended inside a character.
    #[error("the stream ended inside a character")]
    InsideCharacter,
}

/// Takes bytes, gives events.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    line: Vec<u8>,
    pending: Event,
    has_data: bool,
    skip_line_feed: bool,
    at_start: bool,
}

impl Decoder {
    /// A decoder for events of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            pending: Event::default(),
            has_data: false,
            skip_line_feed: false,
            at_start: true,
        }
    }

    /// Takes the next bytes and returns the events that they complete.
    ///
    /// # Errors
    /// [`SseError::TooLarge`]; the stream can't be read further.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.skip_line_feed) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep(rest)?;
                break;
            };
            let (line, after) = rest.split_at(end);
            self.keep(line)?;
            self.skip_line_feed = after.first() == Some(&b'\r');
            rest = after.get(1..).unwrap_or_default();
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// The stream ended. Gives an event that was whole but for its last line break.
    ///
    /// # Errors
    /// [`SseError::InsideCharacter`].
    pub fn finish(mut self) -> Result<Option<Event>, SseError> {
        if let Err(error) = std::str::from_utf8(&self.line)
            && error.error_len().is_none()
        {
            return Err(SseError::InsideCharacter);
        }
        let last = if self.line.is_empty() {
            None
        } else {
            self.end_line()
        };
        Ok(last.or_else(|| self.end_event()))
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + self.pending.data.len() + bytes.len() > self.limit {
            return Err(SseError::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let mut line: &str = &text;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.pending.data.push('\n');
                }
                self.has_data = true;
                self.pending.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.pending.kind),
            "id" if !value.contains('\0') => self.pending.id = Some(value.to_owned()),
            // Comments (an empty name) and unknown fields say nothing, by the specification.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.pending);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<Event>, SseError> {
        let mut decoder = Decoder::new(1 << 16);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.feed(piece)?);
        }
        events.extend(decoder.finish()?);
        Ok(events)
    }

    fn data(stream: &str) -> Vec<String> {
        all(&[stream.as_bytes()])
            .unwrap()
            .into_iter()
            .map(|event| event.data)
            .collect()
    }

    #[test]
    fn forms_of_events() {
        for (stream, expected) in [
            ("data: a\n\n", vec!["a"]),
            ("data:a\n\n", vec!["a"]),
            ("data:  a\n\n", vec![" a"]),
            ("data: a\r\n\r\n", vec!["a"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            ("data: a\r\ndata: b\r\n\r\n", vec!["a\nb"]),
            ("data: a\rdata: b\r\r", vec!["a\nb"]),
            ("data\n\n", vec![""]),
            ("data: \n\n", vec![""]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            (": OPENROUTER PROCESSING\n\ndata: a\n\n", vec!["a"]),
            (":\n\n:\r\n\r\ndata: a\n\n", vec!["a"]),
            ("retry: 5\nunknown: x\ndata: a\n\n", vec!["a"]),
            ("event: ping\n\ndata: a\n\n", vec!["a"]),
            ("data: a\n\ndata: [DONE]\n", vec!["a", "[DONE]"]),
            ("data: a\n\ndata: [DONE]", vec!["a", "[DONE]"]),
            ("\n\n\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(data(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn names_and_ids_belong_to_their_event() {
        let events = all(&[b"event: error\nid: 7\ndata: x\n\ndata: y\n\n"]).unwrap();
        let first = Event {
            kind: "error".into(),
            data: "x".into(),
            id: Some("7".into()),
        };
        let second = Event {
            data: "y".into(),
            ..Event::default()
        };
        assert_eq!(events, [first, second]);
    }

    #[test]
    fn a_stream_that_ends_inside_a_character_is_an_error() {
        let cut = all(&[b"data: ", "中".as_bytes().get(..2).unwrap()]);
        assert_eq!(cut, Err(SseError::InsideCharacter));
    }

    #[test]
    fn a_wrong_byte_costs_one_character() {
        let events = all(&[b"data: a\xffb\n\n"]).unwrap();
        assert_eq!(
            events.first().map(|event| event.data.as_str()),
            Some("a\u{fffd}b")
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::new(100);
        let told = (0..100).find_map(|_| decoder.feed(b"data: 0123456789\n").err());
        assert_eq!(told, Some(SseError::TooLarge { limit: 100 }));
        let mut decoder = Decoder::new(100);
        let told = (0..100).find_map(|_| decoder.feed(b"0123456789").err());
        assert_eq!(told, Some(SseError::TooLarge { limit: 100 }));
    }

    const MIXED: &str = "\u{feff}: hello\r\ndata: 中文 🦀\r\n\r\ndata:x\rdata: y\r\revent: e\nid: 1\ndata: [DONE]\n\n";

    #[test]
    fn it_does_not_matter_where_the_network_cuts() {
        let whole = all(&[MIXED.as_bytes()]).unwrap();
        assert_eq!(whole.len(), 3);
        for at in 0..=MIXED.len() {
            let (left, right) = MIXED.as_bytes().split_at(at);
            assert_eq!(all(&[left, right]).unwrap(), whole, "cut at {at}");
        }
        for size in 1..=7 {
            let pieces: Vec<&[u8]> = MIXED.as_bytes().chunks(size).collect();
            assert_eq!(all(&pieces).unwrap(), whole, "pieces of {size}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_say_the_same(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0_usize..200, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(all(&pieces), all(&[&bytes]));
        }
    }
}
