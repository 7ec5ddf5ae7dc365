//! A case, from the first message to the judgement.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use checker::{Evidence, Inbound, Report, check};
use testkit::telegram::{Call, Gate, Rule, Telegram, Trouble};

use crate::case::{Case, Dice, Outcome};
use crate::evidence::collect;
use crate::gateway::{Gateway, was_killed};
use crate::mishap::{FLOOD, Mishap};
use crate::world::{BOTS, World, account, token};

/// Longest wait for a death.
const DEATH: Duration = Duration::from_secs(60);
/// Longest wait for what follows the last answer.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Longest wait until nothing is open, and more for each message.
const DRAIN: Duration = Duration::from_secs(60);
const DRAIN_EACH: Duration = Duration::from_millis(300);

/// Runs a case. What went wrong on the way is a finding too.
pub async fn run(case: Case, binary: &Path) -> Outcome {
    let begun = Instant::now();
    let mut outcome = Outcome {
        case,
        ends: 0,
        report: Report::default(),
        calls: 0,
        took: Duration::ZERO,
        log: String::new(),
    };
    match World::new(&case, binary).await {
        Ok(mut world) => {
            if let Err(error) = live(&case, &mut world, &mut outcome).await {
                outcome.report.findings.push(trouble(format!("{error:#}")));
            }
            if !outcome.is_good() {
                outcome.log = world.place.told();
                let kept = world.keep();
                let note = format!("its home is kept in {}", kept.display());
                outcome.log.push_str(&format!("\n{note}"));
            }
        }
        Err(error) => outcome.report.findings.push(trouble(format!("{error:#}"))),
    }
    outcome.took = begun.elapsed();
    outcome
}

fn trouble(text: String) -> checker::Finding {
    checker::Finding {
        invariant: "run",
        text,
    }
}

async fn live(case: &Case, world: &mut World, outcome: &mut Outcome) -> anyhow::Result<()> {
    let mut dice = Dice::new(case.seed ^ 0x5eed);
    case.behaviour.begin(&world.telegram, case.seed);
    world.write(case.messages / 2);
    // Some cases meet it twice: what comes up again after a crash may crash again.
    let times = 1 + usize::from(dice.below(3) == 0);
    let mut living = None;
    for time in 1..=times {
        let nth = 1 + dice.below(case.row.most);
        let met = mishap(case, world, nth, &mut dice)
            .await
            .with_context(|| format!("{} for the {time}. time, passage {nth}", case.row.name))?;
        match met {
            Met::Gone => outcome.ends += 1,
            Met::Lives(gateway) => {
                outcome.ends += 1;
                living = Some(gateway);
                break;
            }
            // The second time there may be too little left to do to come to it.
            Met::Nothing(gateway) if time > 1 => {
                living = Some(gateway);
                break;
            }
            Met::Nothing(_) => bail!(
                "{}: everything was answered before passage {nth} was come to",
                case.row.name
            ),
        }
        world.write(case.messages / 2 + case.messages / 4);
    }
    let gateway = match living {
        Some(gateway) => gateway,
        None => world.place.start(None).await?,
    };
    world.write(case.messages);
    settle(world, gateway, outcome).await
}

/// What came of a mishap.
enum Met {
    /// The process is gone.
    Gone,
    /// It happened, and the process lives.
    Lives(Gateway),
    /// It never happened: there was too little to do.
    Nothing(Gateway),
}

/// Brings the mishap about.
async fn mishap(case: &Case, world: &mut World, nth: u64, dice: &mut Dice) -> anyhow::Result<Met> {
    let name = case.row.name;
    let armed = case.row.arms(nth);
    match case.row.mishap {
        Mishap::Dies => {
            let before = world.place.reached(name);
            let mut gateway = world.place.start(armed.as_deref()).await?;
            let Some(ended) = unless_idle(world, gateway.end(DEATH)).await? else {
                return Ok(Met::Nothing(gateway));
            };
            if !was_killed(ended) || world.place.reached(name) <= before {
                bail!("it ended with {ended} and not at its failpoint");
            }
            Ok(Met::Gone)
        }
        Mishap::Fails | Mishap::Panics => {
            let gateway = world.place.start(armed.as_deref()).await?;
            let words = format!("failpoint reached: {name}");
            let said = gateway.says(&words, 0);
            Ok(match unless_idle(world, said).await? {
                // A start may fail by it; then it is started again.
                Some(()) if gateway.is_gone() => Met::Gone,
                Some(()) => Met::Lives(gateway),
                None => Met::Nothing(gateway),
            })
        }
        Mishap::KilledBeforeDone | Mishap::KilledBeforeAnswer => {
            let gate = Gate::default();
            let held = if case.row.mishap == Mishap::KilledBeforeDone {
                Trouble::Hold(gate.clone())
            } else {
                Trouble::HoldAnswer(gate.clone())
            };
            let seen = strike(world, nth, held);
            let gateway = world.place.start(None).await?;
            if !struck(world, &seen, nth).await? {
                return Ok(Met::Nothing(gateway));
            }
            gateway.kill().await?;
            // What the platform had in its hands is done now, while nobody listens.
            gate.release();
            Ok(Met::Gone)
        }
        Mishap::KilledWaiting => {
            let seen = strike(world, nth, Trouble::Flood(FLOOD.as_secs()));
            let gateway = world.place.start(None).await?;
            if !struck(world, &seen, nth).await? {
                return Ok(Met::Nothing(gateway));
            }
            if !waits(world).await? {
                bail!("no part ever waited for the end of retry_after");
            }
            gateway.kill().await?;
            Ok(Met::Gone)
        }
        Mishap::Stopped => {
            let wanted = world.telegram.count(Call::shows) + usize::try_from(nth)?;
            let gateway = world.place.start(None).await?;
            let telegram = world.telegram.clone();
            let busy = telegram.until_within(DEATH, "some calls", |fake| {
                fake.count(Call::shows) >= wanted
            });
            if unless_idle(world, busy).await?.is_none() {
                return Ok(Met::Nothing(gateway));
            }
            gateway.stop().await?;
            Ok(Met::Gone)
        }
        Mishap::StoppedTwice => {
            let gate = Gate::default();
            let trouble = if dice.below(2) == 0 {
                Trouble::Hold(gate.clone())
            } else {
                Trouble::HoldAnswer(gate.clone())
            };
            let seen = strike(world, nth, trouble);
            let mut gateway = world.place.start(None).await?;
            if !struck(world, &seen, nth).await? {
                return Ok(Met::Nothing(gateway));
            }
            let stopping = "once more stops at once";
            let before = gateway.said(stopping);
            gateway.terminate()?;
            gateway.says(stopping, before).await?;
            gateway.terminate()?;
            let ended = gateway.end(Duration::from_secs(10)).await?;
            gate.release();
            if ended.code() != Some(130) {
                bail!("it ended with {ended} when asked twice to stop");
            }
            Ok(Met::Gone)
        }
    }
}

/// Waits for something that happens while there is work; more is written when all was answered. `None`: all was answered, and
/// it did not happen.
async fn unless_idle<T>(
    world: &mut World,
    happens: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let mut happens = std::pin::pin!(happens);
    loop {
        let telegram = world.telegram.clone();
        let answered = open(world);
        tokio::select! {
            happened = &mut happens => return happened.map(Some),
            idle = telegram.until_within(DEATH, "an answer to each message", |fake| none_open(fake, &answered)) => idle?,
        }
        let all = world.speeches.len();
        if world.written == all {
            // What dies of the last words may do so a moment after they are read.
            let last = tokio::time::timeout(LAST_WORDS, &mut happens).await;
            return last.ok().transpose();
        }
        world.write(world.written + all / 4 + 1);
    }
}

/// Scripts a trouble for the nth call that shows something; counts those that came.
fn strike(world: &World, nth: u64, trouble: Trouble) -> Arc<AtomicUsize> {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let nth = usize::try_from(nth).unwrap_or(1);
    let rule = Rule::on("sendMessage").nth(nth).when(move |_call| {
        counter.fetch_add(1, Ordering::SeqCst);
        true
    });
    world.telegram.script(rule, trouble);
    seen
}

/// Waits until the call is struck; `false` if there was too little to do.
async fn struck(world: &mut World, seen: &AtomicUsize, nth: u64) -> anyhow::Result<bool> {
    let nth = usize::try_from(nth)?;
    let telegram = world.telegram.clone();
    let struck = telegram.until_within(DEATH, "the call that is struck", |_fake| {
        seen.load(Ordering::SeqCst) >= nth
    });
    Ok(unless_idle(world, struck).await?.is_some())
}

/// Waits until a part waits.
async fn waits(world: &World) -> anyhow::Result<bool> {
    let mut beat = tokio::time::interval(Duration::from_millis(50));
    let until = Instant::now() + FLOOD;
    while Instant::now() < until {
        let rows = world
            .place
            .objects(&["outbox", "list", "--state", "retry"])
            .await?;
        if !rows.is_empty() {
            return Ok(true);
        }
        beat.tick().await;
    }
    Ok(false)
}

/// Waits until nothing is open, stops the gateway, and judges.
async fn settle(world: &World, mut gateway: Gateway, outcome: &mut Outcome) -> anyhow::Result<()> {
    let mut drained = tokio::select! {
        done = drained(world) => Some(done),
        ended = gateway.end(Duration::MAX) => {
            // A store that fails may end a service, and with it the gateway: whoever watches over it starts it again.
            if outcome.case.row.mishap != Mishap::Fails {
                bail!("it ended by itself with {}", ended?);
            }
            None
        }
    };
    if drained.is_none() {
        outcome.ends += 1;
        gateway = world.place.start(None).await?;
        drained = Some(self::drained(world).await);
    }
    gateway.stop().await?;
    let evidence = collect(world).await?;
    outcome.calls = evidence.fake.calls.len();
    outcome.report = check(&evidence);
    if outcome.report.findings.is_empty() {
        sees_a_lost_row(evidence, outcome);
    }
    if let Some(Err(error)) = drained {
        outcome.report.findings.push(trouble(format!("{error:#}")));
    }
    let held = world.violations().into_iter().map(|what| checker::Finding {
        invariant: "fake",
        text: what,
    });
    outcome.report.findings.extend(held);
    Ok(())
}

/// The test of the test: with one row gone from the product's ledger, the same judge must find something.
fn sees_a_lost_row(mut evidence: Evidence, outcome: &mut Outcome) {
    let Some(last) = evidence.product.iter().rposition(|row| row.kind == "reply") else {
        return;
    };
    evidence.product.remove(last);
    if check(&evidence).findings.is_empty() {
        let text = "a row was taken from the ledger, and the judge did not see it".to_owned();
        outcome.report.findings.push(trouble(text));
    }
}

/// Messages that were written in and are not known to be answered.
type Open = Mutex<Vec<(String, Inbound)>>;

fn open(world: &World) -> Open {
    let written = world.speeches.iter().take(world.written);
    let open = written.map(|speech| (token(speech.bot), speech.inbound(&account(speech.bot))));
    Mutex::new(open.collect())
}

/// Whether each message has its answer, and the platform hands out no more.
fn none_open(fake: &Telegram, open: &Open) -> bool {
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some((bot, inbound)) = open.last() {
        if !answered(fake, bot, inbound) {
            return false;
        }
        open.pop();
    }
    (0..BOTS).all(|bot| fake.pending(&token(bot)) == 0)
}

async fn drained(world: &World) -> anyhow::Result<()> {
    let patience = DRAIN + DRAIN_EACH * u32::try_from(world.speeches.len()).unwrap_or(u32::MAX);
    let until = Instant::now() + patience;
    let left = open(world);
    let waited = world
        .telegram
        .until_within(patience, "an answer to each message", |fake| {
            none_open(fake, &left)
        })
        .await;
    if waited.is_err() {
        let left = left.lock().unwrap_or_else(PoisonError::into_inner);
        let first = left.last().map(|(_, inbound)| inbound.token.as_str());
        bail!(
            "not all messages were answered in time, such as {}",
            first.unwrap_or("those that the platform still has")
        );
    }
    let mut beat = tokio::time::interval(Duration::from_millis(100));
    while anything_open(world).await? {
        if Instant::now() > until {
            bail!("parcels stay open");
        }
        beat.tick().await;
    }
    Ok(())
}

fn answered(fake: &Telegram, bot: &str, inbound: &Inbound) -> bool {
    let shown = fake.chat(bot, inbound.chat);
    let has = |marker: &String| {
        shown.iter().any(|message| {
            let file = message.file.as_ref();
            message.text.contains(marker.as_str())
                || file.is_some_and(|file| {
                    let caption = file.caption.as_deref().unwrap_or_default();
                    file.bytes.starts_with(marker.as_bytes()) || caption.contains(marker.as_str())
                })
        })
    };
    let notice = || {
        shown
            .iter()
            .any(|message| message.text.contains(&format!("⚠ {}", inbound.token)))
    };
    inbound.markers.iter().all(has) || (inbound.may_die && notice())
}

async fn anything_open(world: &World) -> anyhow::Result<bool> {
    for state in ["queued", "sending", "retry", "unknown"] {
        let rows = world
            .place
            .objects(&["outbox", "list", "--state", state, "--most", "1"])
            .await?;
        if !rows.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
