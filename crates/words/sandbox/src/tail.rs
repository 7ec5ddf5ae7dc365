//! Output with a bound: its beginning and its end.

use std::collections::VecDeque;

/// Keeps the first half and the last half of a bound, and counts what lay between.
#[derive(Debug, Clone)]
pub struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    left_out: u64,
}

impl HeadAndTail {
    /// Keeps at most so many bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            most_head: most / 2,
            most_tail: most - most / 2,
            left_out: 0,
        }
    }

    /// Adds a piece.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.most_head - self.head.len();
        let (to_head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(to_head);
        let skipped = rest.len().saturating_sub(self.most_tail);
        let (_, kept) = rest.split_at(skipped);
        let pushed_out = (self.tail.len() + kept.len()).saturating_sub(self.most_tail);
        self.tail.drain(..pushed_out);
        self.tail.extend(kept);
        self.left_out += (skipped + pushed_out) as u64;
    }

    /// The kept bytes, and how many were left out between the halves.
    #[must_use]
    pub fn into_parts(mut self) -> (Vec<u8>, u64) {
        self.head.extend(self.tail);
        (self.head, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::HeadAndTail;

    #[test]
    fn both_ends_are_kept_wherever_the_pieces_are_cut() {
        let whole: Vec<u8> = (0..40).collect();
        for most in 0..45 {
            for piece in 1..=whole.len() {
                let mut cap = HeadAndTail::new(most);
                whole.chunks(piece).for_each(|bytes| cap.push(bytes));
                let (kept, left_out) = cap.into_parts();
                let mut expected = whole.clone();
                if whole.len() > most {
                    expected = whole.iter().copied().take(most / 2).collect();
                    expected.extend(whole.iter().copied().skip(whole.len() - (most - most / 2)));
                }
                assert_eq!(
                    kept,
                    expected,
                    "{most} of {} in pieces of {piece}",
                    whole.len()
                );
                assert_eq!(left_out, whole.len().saturating_sub(most) as u64);
            }
        }
    }
}
