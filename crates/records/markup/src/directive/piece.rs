//! What comes out of the parser.

use chat::Shape;

use super::DirectiveParser;

/// A stretch of what a model wrote, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words for the person.
    Text(String),
    /// A file to attach, asked for at this place.
    Attach(Directive),
    /// A wish about all files of the message.
    Flag(Flag),
}

/// A wish about all files of the message, wherever in the message it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// `[[audio_as_voice]]`: audio goes as a voice note.
    Voice,
    /// `[[as_document]]`: every file goes as a document.
    Document,
}

/// The flags of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Audio goes as a voice note.
    pub voice: bool,
    /// Every file that is not a voice note goes as a document.
    pub document: bool,
}

impl Flags {
    /// Takes a flag in.
    pub fn add(&mut self, flag: Flag) {
        match flag {
            Flag::Voice => self.voice = true,
            Flag::Document => self.document = true,
        }
    }

    /// How a file of this type is to be shown.
    #[must_use]
    pub fn shape(self, mime: &str) -> Shape {
        if self.voice && mime.starts_with("audio/") {
            Shape::Voice
        } else if self.document {
            Shape::Document
        } else {
            Shape::Auto
        }
    }
}

/// One way to understand a directive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The files, as the model wrote them; never empty.
    pub paths: Vec<String>,
    /// What is prose in this reading: shown at the directive's place if the reading is taken. Often empty.
    pub rest: String,
}

/// A request to attach files. Taken out of the text; what of it is prose comes back with the chosen reading.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Directive {
    /// Ways to understand it, best first, at least one and at most twelve. Take the first whose paths can all be captured.
    pub readings: Vec<Reading>,
    /// As the model wrote it.
    pub raw: String,
    pub(super) preferred: usize,
    pub(super) own_line: bool,
}

impl Directive {
    /// The position of the reading to act and report on when of none all files can be captured: attach what can be, name
    /// what cannot, and show its rest, so that no word is lost.
    #[must_use]
    pub fn preferred(&self) -> usize {
        self.preferred.min(self.readings.len().saturating_sub(1))
    }

    /// Whether nothing else stood on the line, so that the line is gone from the text.
    #[must_use]
    pub fn alone_on_its_line(&self) -> bool {
        self.own_line
    }
}

/// A whole text, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// Everything, in order.
    pub pieces: Vec<Piece>,
    /// The words for the person, without the rests of readings: what a stream shows.
    pub text: String,
    /// The directives, in order.
    pub directives: Vec<Directive>,
    /// The flags, from anywhere in the text.
    pub flags: Flags,
}

impl Parsed {
    /// Collects pieces of a stream, for a caller that fed the parser by itself.
    #[must_use]
    pub fn collect(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut parsed = Self::default();
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    parsed.text.push_str(&text);
                    if let Some(Piece::Text(last)) = parsed.pieces.last_mut() {
                        last.push_str(&text);
                    } else {
                        parsed.pieces.push(Piece::Text(text));
                    }
                }
                Piece::Attach(directive) => {
                    parsed.directives.push(directive.clone());
                    parsed.pieces.push(Piece::Attach(directive));
                }
                Piece::Flag(flag) => {
                    parsed.flags.add(flag);
                    parsed.pieces.push(Piece::Flag(flag));
                }
            }
        }
        parsed
    }

    /// The final words for the person, once it is known which reading of each directive holds: `chosen` has the position
    /// of a reading for each of [`Parsed::directives`]; where it says nothing, the preferred one counts.
    #[must_use]
    pub fn text_with(&self, chosen: &[usize]) -> String {
        let mut text = String::new();
        let mut chosen = chosen.iter();
        let mut break_due = false;
        for piece in &self.pieces {
            match piece {
                Piece::Flag(_) => {}
                Piece::Text(words) => {
                    if break_due && !words.starts_with(['\n', '\r']) {
                        text.push('\n');
                    }
                    break_due = false;
                    text.push_str(words);
                }
                Piece::Attach(directive) => {
                    let position = chosen
                        .next()
                        .copied()
                        .unwrap_or_else(|| directive.preferred());
                    let rest = directive
                        .readings
                        .get(position)
                        .map_or("", |reading| reading.rest.as_str());
                    if rest.is_empty() {
                        continue;
                    }
                    if directive.own_line {
                        if text.is_empty() {
                            text.push_str(rest.trim_start_matches('\n'));
                        } else {
                            if !rest.starts_with('\n') {
                                text.push('\n');
                            }
                            text.push_str(rest);
                        }
                    } else {
                        text.push_str(rest);
                    }
                    break_due = directive.own_line;
                }
            }
        }
        text
    }
}

/// Parses a whole text by feeding the same parser that serves streams.
#[must_use]
pub fn parse(whole: &str) -> Parsed {
    let mut parser = DirectiveParser::new();
    let mut pieces = parser.feed(whole);
    pieces.extend(parser.finish());
    Parsed::collect(pieces)
}
