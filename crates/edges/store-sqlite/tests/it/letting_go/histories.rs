//! Whatever happens in whatever order: every reference resolves, and nothing that is referenced is gone.

use outbox::{Claimed, Decision, OutboxStore as _, PartState};
use session::{InboxId, RetentionStore as _};
use waybill::{Timestamp, TurnScope};

use super::house::{DAY, HOUR, House, sent, shown, text};

/// A number generator (SplitMix64): the same seed makes the same history.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

#[derive(Default)]
struct Running {
    claimed: Vec<Claimed>,
    turns: Vec<(TurnScope, Option<sandbox::ArtifactRef>)>,
    events: Vec<InboxId>,
    said: u8,
    heard: u32,
}

async fn step(house: &mut House, dice: &mut Dice, running: &mut Running) -> String {
    let bytes = format!("content {}", dice.roll(6));
    match dice.roll(13) {
        0 => {
            let file = house.capture(bytes.as_bytes()).await;
            let (_, claimed) = house.enqueue(vec![text("see"), shown(&file)]).await;
            running.claimed.extend(claimed);
            "enqueue a file".to_owned()
        }
        1 => {
            let (_, claimed) = house.enqueue(vec![text("words")]).await;
            running.claimed.extend(claimed);
            "enqueue words".to_owned()
        }
        2..=4 => {
            let Some(part) = pick(dice, &mut running.claimed) else {
                let due = house.store.claim(house.now(), 3).await.unwrap();
                running.claimed.extend(due.parts);
                return "claim".to_owned();
            };
            let decision = match dice.roll(4) {
                0 => Decision::Dead {
                    state: PartState::Failed,
                    lane: false,
                },
                _ => sent(),
            };
            let what = format!("{decision:?}");
            running.claimed.extend(house.settle(&part, decision).await);
            what
        }
        5 => {
            let turn = house.begin().await;
            running.turns.push((turn, None));
            "begin a turn".to_owned()
        }
        6 => {
            let file = house.capture(bytes.as_bytes()).await;
            if let Some((turn, promised)) = running.turns.last_mut() {
                house.promise(turn, &file).await;
                *promised = Some(file);
            }
            "promise".to_owned()
        }
        7 => {
            if let Some((turn, promised)) = pick(dice, &mut running.turns) {
                house.end(turn, promised.as_ref()).await;
            }
            "end a turn".to_owned()
        }
        8 => {
            let file = house.capture(bytes.as_bytes()).await;
            running.said = running.said.wrapping_add(1);
            house.open_page().await;
            house.say(running.said, &file).await;
            running.heard += 1;
            running
                .events
                .extend(house.hear(running.heard.to_string(), &file).await);
            "say".to_owned()
        }
        9 => {
            if let Some(event) = pick(dice, &mut running.events) {
                house.ignore(event).await;
            }
            "ignore".to_owned()
        }
        10 => {
            let hours = i64::try_from(dice.roll(200)).unwrap();
            house.at += hours * HOUR;
            format!("{hours} hours later")
        }
        11 => {
            let rows = house.tidy(Some(14 * DAY)).await;
            let found = house.store.collect(Timestamp::MAX).await.unwrap();
            format!("tidy: {rows} rows, {found:?}")
        }
        _ => {
            house.reopen().await;
            running.claimed.clear();
            house
                .store
                .recover(house.now(), std::collections::HashMap::new())
                .await
                .unwrap();
            "restart".to_owned()
        }
    }
}

fn pick<T>(dice: &mut Dice, from: &mut Vec<T>) -> Option<T> {
    let many = u64::try_from(from.len()).unwrap();
    let place = usize::try_from(dice.roll(many.max(1))).unwrap();
    (many > 0).then(|| from.swap_remove(place))
}

#[tokio::test]
async fn after_any_history_every_reference_resolves_and_what_nobody_names_goes() {
    for seed in 0..6 {
        let mut house = House::new();
        let mut dice = Dice(seed);
        let mut running = Running::default();
        let mut history = Vec::new();
        for _ in 0..70 {
            history.push(step(&mut house, &mut dice, &mut running).await);
            let (named, kept) = (house.named(), house.kept());
            assert_eq!(named, kept, "seed {seed}: {history:#?}");
            house.check();
        }
        house.reopen().await;
        house.store.collect(Timestamp::MAX).await.unwrap();
        house.check();
        let mut hashes: Vec<String> = house.kept().into_iter().map(|(hash, ..)| hash).collect();
        hashes.dedup();
        assert_eq!(house.files(), hashes, "seed {seed}: {history:#?}");
        assert_eq!(house.store.check().await.unwrap(), Vec::<String>::new());
    }
}
