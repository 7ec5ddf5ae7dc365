//! Troubles at random, by a seed: the same calls in the same order meet the same troubles.

use std::time::Duration;

use super::request::Call;
use super::script::Trouble;

/// How often each trouble comes, in thousandths of the calls that it can meet. Scripted troubles come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weather {
    /// Where the chances come from.
    pub seed: u64,
    /// Not done, no answer.
    pub dropped: u32,
    /// Not done, 502.
    pub refused: u32,
    /// Done, no answer.
    pub answer_lost: u32,
    /// Done, 500.
    pub answered_500: u32,
    /// Done, half an answer.
    pub answer_cut: u32,
    /// Done, and the answer trickles.
    pub trickled: u32,
    /// 429 for a second: in header and body, in one of them alone.
    pub flooded: u32,
    /// `getUpdates`: twice, the wrong way round, or old ones again; each so often.
    pub confused_updates: u32,
}

impl Weather {
    /// A bad day: about a tenth of the calls meet something.
    #[must_use]
    pub fn rough(seed: u64) -> Self {
        Self {
            seed,
            dropped: 15,
            refused: 15,
            answer_lost: 15,
            answered_500: 15,
            answer_cut: 10,
            trickled: 15,
            flooded: 20,
            confused_updates: 60,
        }
    }
}

#[derive(Debug)]
pub(super) struct Sky {
    weather: Weather,
    state: u64,
}

impl Sky {
    pub(super) fn new(weather: Weather) -> Self {
        Self {
            weather,
            state: weather.seed,
        }
    }

    /// What meets this call.
    pub(super) fn strike(&mut self, call: &Call) -> Option<Trouble> {
        let weather = self.weather;
        let pause = Duration::from_millis(20);
        let chances: Vec<(u32, Trouble)> = if call.method == "getUpdates" {
            vec![
                (weather.confused_updates, Trouble::Twice),
                (weather.confused_updates, Trouble::Reversed),
                (weather.confused_updates, Trouble::Again),
                (weather.dropped, Trouble::Drop),
                (weather.refused, Trouble::Server(502)),
                (weather.answer_cut, Trouble::HalfBody),
            ]
        } else if call.shows() {
            vec![
                (weather.dropped, Trouble::Drop),
                (weather.refused, Trouble::Server(502)),
                (weather.answer_lost, Trouble::AcceptThenDrop),
                (weather.answered_500, Trouble::AcceptThen500),
                (weather.answer_cut, Trouble::HalfBody),
                (weather.trickled, Trouble::Trickle(pause)),
                (weather.flooded.div_ceil(3), Trouble::Flood(1)),
                (weather.flooded.div_ceil(3), Trouble::FloodHeader(1)),
                (weather.flooded.div_ceil(3), Trouble::FloodBody(1)),
            ]
        } else {
            return None;
        };
        let mut roll = u32::try_from(self.next() % 1_000).unwrap_or(999);
        for (chance, trouble) in chances {
            match roll.checked_sub(chance) {
                None => return Some(trouble),
                Some(rest) => roll = rest,
            }
        }
        None
    }

    /// SplitMix64: small, and good enough for weather.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
