//! How fast it goes: what is slow or dead slows nobody else, and nobody asks for what can't go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chat::{Body, Descriptor, Grade, Op, Rate, Rates, RichText, Way};
use outbox::{NewPart, PartState};

use crate::platform::{Fate, Platform, descriptor};
use crate::post::{Post, Running, chat, key};

const HOUR: Duration = Duration::from_secs(3_600);

fn fast(in_flight: usize) -> Descriptor {
    Descriptor {
        rates: Rates::unlimited(in_flight),
        ..descriptor(Grade::Nothing)
    }
}

fn parts(source: &str, count: u32) -> Vec<NewPart> {
    (1..=count)
        .map(|n| NewPart {
            op: Op::Text(Body::Rich(RichText::plain(format!("{source} {n}")))),
            way: Way::Direct,
            key: key(source, n),
        })
        .collect()
}

/// A message of `count` parts for each chat.
async fn to_each(post: &Post, running: &Running, account: &str, chats: &[usize], count: u32) {
    let messages = chats.iter().map(|number| {
        let source = format!("{account} {number}");
        let to = chat(account, &number.to_string());
        post.message(&to, &source, parts(&source, count))
    });
    running.enqueue(messages.collect(), post.now()).await;
}

/// When each chat but these saw its parts.
fn seen(platform: &Platform, but: &str) -> BTreeMap<String, Vec<Duration>> {
    let mut seen: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for shown in platform.shown() {
        if shown.chat != but {
            seen.entry(shown.chat).or_default().push(shown.at);
        }
    }
    seen
}

/// 20 chats with 5 parts each, where every call takes 100 ms; one chat has trouble.
async fn with_trouble(trouble: Option<Fate>) -> BTreeMap<String, Vec<Duration>> {
    let platform = Platform::new("bot", fast(30));
    for number in 0..20 {
        platform.always(&number.to_string(), Fate::Hangs(Duration::from_millis(100)));
    }
    if let Some(fate) = trouble {
        platform.always("7", fate);
    }
    let post = Post::new(vec![Arc::clone(&platform)]);
    let running = post.starts().await;
    to_each(&post, &running, "bot", &(0..20).collect::<Vec<_>>(), 5).await;
    tokio::time::sleep(HOUR).await;
    running.killed().await;
    seen(&platform, "7")
}

#[tokio::test(start_paused = true)]
async fn a_dead_chat_slows_nobody() {
    let well = with_trouble(None).await;
    assert_eq!(well.len(), 19);
    for trouble in [
        Fate::ChatGone,
        Fate::TemporarilyRefused,
        Fate::Refused,
        Fate::Lost,
        Fate::Hangs(Duration::from_secs(3_000)),
        Fate::Throttled(Duration::from_secs(20), chat::ThrottleScope::Lane),
    ] {
        let others = with_trouble(Some(trouble.clone())).await;
        for (chat, well) in &well {
            let (well, ill) = (well.last().unwrap(), others[chat].last().unwrap());
            assert_eq!(others[chat].len(), 5);
            assert!(
                ill.as_secs_f64() <= well.as_secs_f64() * 1.1,
                "{trouble:?}, chat {chat}: {well:?}, {ill:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_account_slows_no_other() {
    let mut times = Vec::new();
    for trouble in [
        None,
        Some(Fate::NotSent),
        Some(Fate::Revoked),
        Some(Fate::Hangs(HOUR)),
    ] {
        let (well, ill) = (
            Platform::new("well", fast(4)),
            Platform::new("ill", fast(4)),
        );
        for number in 0..50 {
            let number = number.to_string();
            well.always(&number, Fate::Hangs(Duration::from_millis(100)));
            if let Some(fate) = &trouble {
                ill.always(&number, fate.clone());
            }
        }
        let post = Post::new(vec![Arc::clone(&well), Arc::clone(&ill)]);
        let running = post.starts().await;
        let chats: Vec<_> = (0..50).collect();
        to_each(&post, &running, "ill", &chats, 2).await;
        to_each(&post, &running, "well", &chats, 2).await;
        tokio::time::sleep(Duration::from_secs(1_800)).await;
        running.killed().await;
        let last = well.shown().iter().map(|shown| shown.at).max().unwrap();
        assert_eq!(well.shown().len(), 100);
        times.push(last);
    }
    for ill in &times[1..] {
        assert!(
            ill.as_secs_f64() <= times[0].as_secs_f64() * 1.1,
            "{times:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn while_all_places_are_taken_nobody_looks_for_work() {
    let platform = Platform::new("bot", fast(2));
    for number in 0..10 {
        platform.always(&number.to_string(), Fate::Hangs(Duration::from_secs(50)));
    }
    let post = Post::new(vec![Arc::clone(&platform)]);
    let running = post.starts().await;
    to_each(&post, &running, "bot", &(0..10).collect::<Vec<_>>(), 1).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = running.hand.claims.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(40)).await;
    let claims = running.hand.claims.load(Ordering::SeqCst) - before;
    // Every two seconds one, in case that a sign was missed.
    assert!(claims <= 21, "{claims} claims in 40 seconds");
    assert_eq!(platform.calls().len(), 2);
    running.quiet(HOUR).await;
    assert_eq!(platform.shown().len(), 10);
    assert_eq!(platform.most_on_the_wire(), 2, "never more than its places");
    running.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_platform_allows_is_used_and_never_overrun() {
    let rate = |calls, ms| Rate {
        calls,
        per: Duration::from_millis(ms),
    };
    let rates = Rates {
        account: vec![rate(30, 1_030)],
        direct: vec![rate(3, 3_060)],
        group: vec![],
        in_flight: 30,
    };
    let platform = Platform::new(
        "bot",
        Descriptor {
            rates,
            ..descriptor(Grade::Nothing)
        },
    );
    for number in 0..150 {
        platform.always(&number.to_string(), Fate::Hangs(Duration::from_millis(200)));
    }
    let post = Post::new(vec![Arc::clone(&platform)]);
    let running = post.starts().await;
    to_each(&post, &running, "bot", &(0..150).collect::<Vec<_>>(), 12).await;
    running.quiet(HOUR).await;
    let calls: Vec<_> = platform.calls();
    assert_eq!(calls.len(), 1_800);
    let within = |calls: &[Duration], per: u64| {
        let per = Duration::from_millis(per);
        let count = |from: &Duration| {
            calls
                .iter()
                .filter(|at| **at >= *from && **at < *from + per)
                .count()
        };
        calls.iter().map(count).max().unwrap_or(0)
    };
    let times: Vec<Duration> = calls.iter().map(|call| call.at).collect();
    assert!(
        within(&times, 1_029) <= 30,
        "{} in a window",
        within(&times, 1_029)
    );
    for number in 0..150 {
        let name = number.to_string();
        let own: Vec<_> = calls
            .iter()
            .filter(|call| call.chat == name)
            .map(|call| call.at)
            .collect();
        assert!(within(&own, 3_059) <= 3, "chat {number}: {own:?}");
    }
    // Once the number of places has found itself, until the last chats wait for their own windows alone.
    let (first, last) = (times[400], times[1_500]);
    let used = 1_100.0 / (last - first).as_secs_f64() / (30.0 / 1.030);
    assert!(used >= 0.95, "{:.1} % of what is allowed", used * 100.0);
    running.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn a_network_that_is_away_is_tried_by_one_and_when_it_is_back_all_go() {
    let platform = Platform::new("bot", fast(8));
    platform.is_down(true);
    let post = Post::new(vec![Arc::clone(&platform)]);
    let running = post.starts().await;
    to_each(&post, &running, "bot", &(0..50).collect::<Vec<_>>(), 1).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let calls: Vec<_> = platform.calls();
    let late = calls
        .iter()
        .filter(|call| call.at >= Duration::from_secs(60))
        .count();
    assert!(
        (18..=80).contains(&late),
        "{late} tries of 50 chats in nine minutes"
    );
    let early = calls.len() - late;
    assert!(early <= 60, "{early} tries in the first minute");
    platform.is_down(false);
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(
        platform.shown().len(),
        50,
        "half a minute later all are there"
    );
    let rows = running.rows().await;
    assert!(rows.iter().all(|row| row.state() == PartState::Sent));
    running.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn a_revoked_login_loses_nothing_and_goes_on_when_it_works_again() {
    let platform = Platform::new("bot", fast(8));
    for number in 0..20 {
        platform.always(&number.to_string(), Fate::Revoked);
    }
    let post = Post::new(vec![Arc::clone(&platform)]);
    let running = post.starts().await;
    to_each(&post, &running, "bot", &(0..20).collect::<Vec<_>>(), 2).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let calls = platform.calls().len();
    assert!(calls <= 70, "{calls} calls with a login that does not work");
    assert!(running.rows().await.iter().all(|row| !row.state().is_end()));
    // Also over a restart.
    running.stopped().await;
    let running = post.starts().await;
    for number in 0..20 {
        platform.always(&number.to_string(), Fate::Accepted);
    }
    running.quiet(HOUR).await;
    assert_eq!(platform.shown().len(), 40);
    running.stopped().await;
}
