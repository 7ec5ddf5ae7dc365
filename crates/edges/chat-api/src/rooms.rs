//! Who waits in which conversation, and whose words a preview is.
//!
//! Frames come in the order in which their turns ran, but say only where, not for which request; any of them may be missing.
//! So each request stays in its conversation's order until the end of a turn was seen that began while it was first there, even
//! if its sender is gone by then. A frame that is missing can make a later request see no words early; it can't make one see
//! another's.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::{Activity, IdempotencyKey, Preview};
use tokio::sync::watch;
use waybill::{Anchor, Conversation};

use crate::request::is_once;

/// Conversations in which nobody waits any more are forgotten from here on.
const KEPT: usize = 1_024;

/// What happened since it was looked last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sign {
    /// The answer so far, if it is certain whose it is.
    pub(crate) words: Option<Arc<str>>,
    /// Grows when the store should be asked.
    pub(crate) stirred: u64,
}

/// Whether a request takes a place in its conversation's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It was asked just now.
    InLine,
    /// It was asked before; its turn may have begun, or ended.
    Aside,
}

/// Somebody who waits for an answer.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) request: String,
    place: Place,
    sign: watch::Sender<Sign>,
    delivered: Mutex<HashSet<IdempotencyKey>>,
}

impl Waiter {
    pub(crate) fn new(request: String, place: Place) -> Self {
        Self {
            request,
            place,
            sign: watch::Sender::default(),
            delivered: Mutex::default(),
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Sign> {
        self.sign.subscribe()
    }

    /// Whether a part was handed to it.
    pub(crate) fn has(&self, key: &IdempotencyKey) -> bool {
        self.delivered().contains(key)
    }

    fn delivered(&self) -> MutexGuard<'_, HashSet<IdempotencyKey>> {
        self.delivered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn stir(&self) {
        self.sign.send_modify(|sign| sign.stirred += 1);
    }
}

#[derive(Debug)]
struct Seat {
    waiter: Arc<Waiter>,
    /// Somebody still waits.
    taken: bool,
    /// The end of a turn was seen that began while it was first.
    heard_out: bool,
}

#[derive(Debug, Default)]
struct Room {
    /// Held while a request is taken, so that the order here is that of the inbox.
    gate: Arc<tokio::sync::Mutex<()>>,
    seats: VecDeque<Seat>,
    /// Whose turn began last, and has not ended.
    speaks_to: Option<Arc<Waiter>>,
}

impl Room {
    fn tidy(&mut self) {
        self.seats
            .retain(|seat| seat.taken || (!seat.heard_out && seat.waiter.place == Place::InLine));
    }

    fn is_idle(&self) -> bool {
        !self.seats.iter().any(|seat| seat.taken) && Arc::strong_count(&self.gate) == 1
    }
}

/// All conversations in which somebody waits.
#[derive(Debug, Default)]
pub(crate) struct Rooms(Mutex<HashMap<Conversation, Room>>);

impl Rooms {
    fn rooms(&self) -> MutexGuard<'_, HashMap<Conversation, Room>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, conversation: &Conversation, work: impl FnOnce(&mut Room) -> T) -> Option<T> {
        self.rooms().get_mut(conversation).map(work)
    }

    /// What orders the requests of a conversation.
    pub(crate) fn gate(&self, conversation: &Conversation) -> Arc<tokio::sync::Mutex<()>> {
        let mut rooms = self.rooms();
        if rooms.len() >= KEPT && !rooms.contains_key(conversation) {
            rooms.retain(|_, room| !room.is_idle());
        }
        Arc::clone(&rooms.entry(conversation.clone()).or_default().gate)
    }

    /// Somebody waits from now on.
    pub(crate) fn enter(&self, conversation: &Conversation, waiter: Arc<Waiter>) {
        let mut rooms = self.rooms();
        let room = rooms.entry(conversation.clone()).or_default();
        room.seats.push_back(Seat {
            waiter,
            taken: true,
            heard_out: false,
        });
    }

    /// Somebody waits no more.
    pub(crate) fn leave(&self, conversation: &Conversation, waiter: &Arc<Waiter>) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.get_mut(conversation) else {
            return;
        };
        for seat in &mut room.seats {
            if Arc::ptr_eq(&seat.waiter, waiter) {
                seat.taken = false;
            }
        }
        room.tidy();
        let empty = room.seats.is_empty() || is_once(conversation);
        if empty && room.is_idle() {
            rooms.remove(conversation);
        }
    }

    /// A request was not taken after all: no turn of it will begin.
    pub(crate) fn forget(&self, conversation: &Conversation, waiter: &Arc<Waiter>) {
        self.with(conversation, |room| {
            room.seats.retain(|seat| !Arc::ptr_eq(&seat.waiter, waiter));
        });
    }

    /// A part of the answer to `anchor` is there.
    pub(crate) fn hand_over(
        &self,
        conversation: &Conversation,
        anchor: Option<&Anchor>,
        key: IdempotencyKey,
    ) {
        let waiters: Vec<Arc<Waiter>> = self
            .with(conversation, |room| {
                let seats = room.seats.iter().filter(|seat| seat.taken);
                let waiters = seats.map(|seat| Arc::clone(&seat.waiter));
                waiters
                    .filter(|waiter| anchor.is_some_and(|anchor| anchor.as_str() == waiter.request))
                    .collect()
            })
            .unwrap_or_default();
        for waiter in waiters {
            waiter.delivered().insert(key);
            waiter.stir();
        }
    }

    /// The answer so far.
    pub(crate) fn preview(&self, conversation: &Conversation, preview: Preview) {
        let Preview::Text(text) = preview else { return };
        let speaks_to = self.with(conversation, |room| room.speaks_to.clone());
        if let Some(waiter) = speaks_to.flatten() {
            waiter
                .sign
                .send_modify(|sign| sign.words = Some(Arc::from(text)));
        }
    }

    /// A turn begins, or ends.
    pub(crate) fn activity(&self, conversation: &Conversation, activity: &Activity) {
        let stirred = self.with(conversation, |room| match activity {
            Activity::Typing => {
                let first = room
                    .seats
                    .iter()
                    .find(|seat| seat.waiter.place == Place::InLine && !seat.heard_out);
                room.speaks_to = first.map(|seat| Arc::clone(&seat.waiter));
                Vec::new()
            }
            Activity::Idle => {
                if let Some(waiter) = room.speaks_to.take() {
                    for seat in &mut room.seats {
                        seat.heard_out |= Arc::ptr_eq(&seat.waiter, &waiter);
                    }
                }
                room.tidy();
                let seats = room.seats.iter();
                seats.map(|seat| Arc::clone(&seat.waiter)).collect()
            }
            Activity::ToolBegan { .. }
            | Activity::ToolEnded { .. }
            | Activity::Tapped { .. }
            | Activity::Answered { .. } => Vec::new(),
        });
        for waiter in stirred.unwrap_or_default() {
            waiter.stir();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        rooms: Rooms,
        here: Conversation,
    }

    impl World {
        fn new() -> Self {
            Self {
                rooms: Rooms::default(),
                here: Conversation::new("c/s").unwrap(),
            }
        }

        fn enter(&self, request: &str, place: Place) -> Arc<Waiter> {
            let waiter = Arc::new(Waiter::new(request.to_owned(), place));
            self.rooms.enter(&self.here, Arc::clone(&waiter));
            waiter
        }

        fn frame(&self, words: &str) {
            self.rooms
                .preview(&self.here, Preview::Text(words.to_owned()));
        }

        fn begins(&self) {
            self.rooms.activity(&self.here, &Activity::Typing);
        }

        fn ends(&self) {
            self.rooms.activity(&self.here, &Activity::Idle);
        }
    }

    fn words(waiter: &Waiter) -> Option<String> {
        waiter
            .sign
            .borrow()
            .words
            .as_ref()
            .map(|words| words.to_string())
    }

    #[test]
    fn two_requests_of_a_session_see_their_own_words_alone() {
        let world = World::new();
        let (one, two) = (
            world.enter("1", Place::InLine),
            world.enter("2", Place::InLine),
        );
        world.begins();
        world.frame("first");
        assert_eq!((words(&one).as_deref(), words(&two)), (Some("first"), None));
        world.ends();
        world.begins();
        world.frame("second");
        assert_eq!(words(&one).as_deref(), Some("first"));
        assert_eq!(words(&two).as_deref(), Some("second"));
    }

    #[test]
    fn late_frames_of_the_turn_before_are_nobodys() {
        let world = World::new();
        let one = world.enter("1", Place::InLine);
        // Its answer came by the outbox, and it is gone, before the first frame was shown.
        world.rooms.leave(&world.here, &one);
        let two = world.enter("2", Place::InLine);
        world.begins();
        world.frame("the words of the first");
        world.ends();
        assert_eq!(words(&two), None);
        world.begins();
        world.frame("its own");
        assert_eq!(words(&two).as_deref(), Some("its own"));
    }

    #[test]
    fn frames_that_are_missing_never_show_words_of_another() {
        // Of three turns, each with a beginning, words and an end, any frames are missing.
        for missing in 0..(1 << 9) {
            let world = World::new();
            let waiters: Vec<_> = ["1", "2", "3"]
                .map(|request| world.enter(request, Place::InLine))
                .into();
            for (turn, waiter) in waiters.iter().enumerate() {
                let there = |frame: usize| missing & (1 << (turn * 3 + frame)) == 0;
                if there(0) {
                    world.begins();
                }
                if there(1) {
                    world.frame(&waiter.request);
                }
                if there(2) {
                    world.ends();
                }
                let others = waiters.iter().skip(turn + 1);
                assert!(
                    others.into_iter().all(|other| words(other).is_none()),
                    "{missing:b}"
                );
                world.rooms.leave(&world.here, waiter);
            }
        }
    }

    #[test]
    fn who_asks_again_gets_parts_and_takes_nobodys_place() {
        let world = World::new();
        let again = world.enter("0", Place::Aside);
        let one = world.enter("1", Place::InLine);
        world.begins();
        world.frame("first");
        assert_eq!(
            (words(&again), words(&one).as_deref()),
            (None, Some("first"))
        );
        let key = IdempotencyKey::new([1; 16]);
        world
            .rooms
            .hand_over(&world.here, Some(&Anchor::new("0")), key);
        assert!(again.has(&key) && !one.has(&key));
    }

    #[test]
    fn conversations_are_forgotten() {
        let world = World::new();
        for number in 0..KEPT * 2 {
            let once = Conversation::new(format!("c/~{number}")).unwrap();
            let waiter = Arc::new(Waiter::new(number.to_string(), Place::InLine));
            drop(world.rooms.gate(&once));
            world.rooms.enter(&once, Arc::clone(&waiter));
            world.rooms.leave(&once, &waiter);
        }
        assert!(world.rooms.rooms().is_empty());
        for number in 0..KEPT * 2 {
            let named = Conversation::new(format!("c/{number}")).unwrap();
            let waiter = Arc::new(Waiter::new(number.to_string(), Place::InLine));
            drop(world.rooms.gate(&named));
            world.rooms.enter(&named, Arc::clone(&waiter));
            world.rooms.leave(&named, &waiter);
        }
        assert!(world.rooms.rooms().len() <= KEPT);
    }
}
