//! Whatever the platform does and wherever the process dies: nothing is lost, nothing comes twice that need not, and somebody
//! is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chat::{
    Body, Fault, FaultKind, Grade, Op, RichText, Span, Style, ThrottleScope, Way, WhenUnknown,
};
use outbox::{MessageKind, MessageRow, NewPart, OutboxStore as _, PartState};
use proptest::prelude::*;

use crate::platform::{Fate, Platform, SETTLE, Shown, descriptor};
use crate::post::{Death, Post, Running, chat, home, key};

/// Chats of the account.
const CHATS: [&str; 3] = ["1", "2", "3"];
/// Everything is at its end by then.
const LONGEST: Duration = Duration::from_secs(9 * 24 * 3_600);

#[derive(Debug, Clone)]
struct Play {
    grade: Grade,
    /// Whether a platform that can be asked finds what it is asked for.
    honest: bool,
    wish: WhenUnknown,
    script: Vec<Fate>,
    questions: Vec<bool>,
    settling: Vec<Death>,
    claiming: Vec<Death>,
}

fn fate() -> impl Strategy<Value = Fate> {
    let scope = prop_oneof![
        Just(ThrottleScope::Part),
        Just(ThrottleScope::Lane),
        Just(ThrottleScope::Account)
    ];
    prop_oneof![
        6 => Just(Fate::Accepted),
        3 => Just(Fate::AnswerLost),
        2 => Just(Fate::Lost),
        2 => (0..SETTLE.as_secs()).prop_map(|late| Fate::Late(Duration::from_secs(late))),
        2 => Just(Fate::Refused),
        2 => Just(Fate::TemporarilyRefused),
        1 => (1_u64..400, scope).prop_map(|(wait, scope)| Fate::Throttled(Duration::from_secs(wait), scope)),
        1 => Just(Fate::NotSent),
        1 => Just(Fate::Revoked),
        2 => Just(Fate::DiesBefore),
        2 => Just(Fate::DiesAfter),
        1 => Just(Fate::Panics),
    ]
}

fn death() -> impl Strategy<Value = Death> {
    prop_oneof![6 => Just(Death::Never), 1 => Just(Death::Before), 1 => Just(Death::After)]
}

fn play() -> impl Strategy<Value = Play> {
    let grade = prop_oneof![
        Just(Grade::Keyed { window: None }),
        Just(Grade::Keyed {
            window: Some(Duration::from_secs(40))
        }),
        Just(Grade::Reconcilable),
        Just(Grade::TwoPhase),
        Just(Grade::Nothing),
    ];
    let wish = prop_oneof![Just(WhenUnknown::Repeat), Just(WhenUnknown::Hold)];
    (
        grade,
        any::<bool>(),
        wish,
        proptest::collection::vec(fate(), 1..40),
        proptest::collection::vec(any::<bool>(), 0..8),
        proptest::collection::vec(death(), 0..30),
        proptest::collection::vec(death(), 0..10),
    )
        .prop_map(
            |(grade, honest, wish, script, questions, settling, claiming)| Play {
                grade,
                honest,
                wish,
                script,
                questions,
                settling,
                claiming,
            },
        )
}

fn part(source: &str, n: u32, way: Way) -> NewPart {
    let text = format!("{source} part {n}");
    let spans = vec![Span {
        offset: 0,
        length: 1,
        style: Style::Bold,
    }];
    NewPart {
        op: Op::Text(Body::Rich(RichText { text, spans })),
        way,
        key: key(source, n),
    }
}

async fn run(play: &Play) {
    let platform = Platform::with("bot", descriptor(play.grade), play.honest);
    platform.script(play.script.clone());
    platform.questions(play.questions.iter().map(|fails| {
        let after = Duration::from_secs(50);
        let scope = ThrottleScope::Account;
        fails.then(|| Fault::new(FaultKind::Throttled { after, scope }, "wait"))
    }));
    let homes = Platform::new("home", descriptor(Grade::Keyed { window: None }));
    let post = Post::new(vec![Arc::clone(&platform), Arc::clone(&homes)]);
    post.settling.lock().unwrap().extend(&play.settling);
    post.claiming.lock().unwrap().extend(&play.claiming);
    let messages: Vec<_> = CHATS
        .iter()
        .flat_map(|to| (0..2).map(move |n| (to, n)))
        .map(|(to, n)| {
            let source = format!("chat {to} message {n}");
            // The second message goes by placeholders, where the platform has them.
            let way = if play.grade == Grade::TwoPhase && n == 1 {
                Way::Carried
            } else {
                Way::Direct
            };
            let parts = (1..=2).map(|n| part(&source, n, way)).collect();
            let mut message = post.message(&chat("bot", to), &source, parts);
            message.when_unknown = play.wish;
            message
        })
        .collect();
    let mut running = post.starts().await;
    loop {
        // A step that runs again after a crash stores nothing twice.
        let life = Arc::clone(&running.life);
        let ended = tokio::select! {
            biased;
            () = life.died() => false,
            () = async {
                running.enqueue(messages.clone(), post.now()).await;
                running.quiet(LONGEST).await;
            } => true,
        };
        if ended {
            break;
        }
        running.killed().await;
        running = post.starts().await;
    }
    judge(play, &running, &platform.shown(), &homes.shown()).await;
    running.killed().await;
}

/// Shows of each text, in order.
fn by_text(shown: &[Shown]) -> HashMap<&str, Vec<&Shown>> {
    let mut texts: HashMap<&str, Vec<&Shown>> = HashMap::new();
    for one in shown.iter().filter(|shown| !shown.text.is_empty()) {
        texts.entry(&one.text).or_default().push(one);
    }
    for shows in texts.values_mut() {
        shows.sort_by_key(|shown| shown.at);
    }
    texts
}

async fn judge(play: &Play, running: &Running, shown: &[Shown], at_home: &[Shown]) {
    let rows = running.rows().await;
    let texts = by_text(shown);
    for row in &rows {
        for part in &row.parts {
            let Op::Text(body) = &part.op else { continue };
            let shows = texts.get(body.text()).cloned().unwrap_or_default();
            let name = format!("{} of {rows:#?}\n{shown:#?}", body.text());
            let is_home = row.waybill.chat() == &home();
            // I1: an end, and a word about each that is no good one.
            assert!(part.state.is_end() || part.state == PartState::Held);
            if part.state == PartState::Sent && !is_home {
                assert!(!shows.is_empty(), "said to be there, and is not: {name}");
            }
            if part.state == PartState::Held {
                assert_eq!(play.wish, WhenUnknown::Hold, "{name}");
                assert_ne!(row.kind, MessageKind::Notice, "{name}");
            }
            if part.state == PartState::Held || part.state == PartState::Failed {
                let death = part.death.as_ref().expect("it is written down");
                let told = match death.notice {
                    Some(notice) => rows.iter().any(|row| row.id == notice),
                    // Gathered with others: somebody was told of something later.
                    None => rows.iter().any(|row| row.kind == MessageKind::Notice),
                };
                assert!(told, "nobody was told: {name}");
            }
            // I3: K and R never twice; the others marked, each but the first.
            let proven = match play.grade {
                Grade::Keyed { window: None } => true,
                Grade::Reconcilable => play.honest,
                Grade::Keyed { window: Some(_) } | Grade::TwoPhase | Grade::Nothing => false,
            };
            if proven || part.way == Way::Carried {
                assert!(shows.len() <= 1, "shown {} times: {name}", shows.len());
                // Another form has another key, by which its forerunner can't be asked for: its mark may be needless.
                let other_form = play.grade == Grade::Reconcilable && part.rendition > 0;
                let marked = shows.iter().any(|shown| shown.marked);
                assert!(!marked || other_form, "marked: {name}");
            }
            for repeat in shows.iter().skip(1) {
                assert!(repeat.marked, "a repeat without its mark: {name}");
            }
            let unknown = part.attempts.iter().filter(|attempt| {
                let outcome = attempt.outcome.as_deref();
                matches!(outcome, None | Some("unknown" | "crashed"))
            });
            assert!(
                shows.len() <= 1 + unknown.count(),
                "more repeats than lost answers: {name}"
            );
            if play.wish == WhenUnknown::Hold && row.kind != MessageKind::Notice {
                let automatic = matches!(play.grade, Grade::Keyed { .. });
                assert!(
                    shows.len() <= 1 || automatic,
                    "repeated against the owner's wish: {name}"
                );
            }
        }
    }
    order(&rows, &texts);
    notices(&rows);
    let placeholders = shown.iter().filter(|shown| shown.text.is_empty()).count();
    let lost = play.script.len() + play.settling.len() + play.claiming.len();
    assert!(placeholders <= lost, "{placeholders} empty placeholders");
    assert!(at_home.iter().all(|shown| !shown.marked));
}

/// I2: in each lane the first shows come in the order of places.
fn order(rows: &[MessageRow], texts: &HashMap<&str, Vec<&Shown>>) {
    for to in CHATS {
        let mut parts: Vec<_> = rows
            .iter()
            .filter(|row| row.waybill.chat() == &chat("bot", to))
            .flat_map(|row| &row.parts)
            .collect();
        parts.sort_by_key(|part| part.place);
        let firsts = parts.iter().filter_map(|part| match &part.op {
            Op::Text(body) | Op::Question { body, .. } => Some(texts.get(body.text())?.first()?.at),
            Op::File { .. } => None,
        });
        let firsts: Vec<_> = firsts.collect();
        assert!(firsts.is_sorted(), "chat {to} saw {firsts:?} of {parts:#?}");
    }
}

/// A notice that died is told at home once, and one that died there is not told.
fn notices(rows: &[MessageRow]) {
    for row in rows.iter().filter(|row| row.kind == MessageKind::Notice) {
        let about = format!("dead:{}:", row.id);
        let told: Vec<_> = rows
            .iter()
            .filter(|other| other.source.starts_with(&about))
            .collect();
        assert!(told.len() <= 1, "{told:#?}");
        assert!(
            told.iter().all(|other| other.waybill.chat() == &home()),
            "{told:#?}"
        );
        assert!(
            row.waybill.chat() != &home() || told.is_empty(),
            "{told:#?}"
        );
    }
}

fn in_paused_time(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(case);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        max_shrink_time: 120_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn wherever_it_dies_nothing_is_lost_and_only_what_must_be_is_repeated(play in play()) {
        in_paused_time(run(&play));
    }
}

/// One chat, one part; what happens to its calls.
async fn one(grade: Grade, wish: WhenUnknown, fates: &[Fate]) -> (Post, Running, Arc<Platform>) {
    let platform = Platform::new("bot", descriptor(grade));
    platform.script(fates.iter().cloned());
    let homes = Platform::new("home", descriptor(Grade::Keyed { window: None }));
    let post = Post::new(vec![Arc::clone(&platform), homes]);
    let running = post.starts().await;
    let parts = vec![part("a", 1, Way::Direct), part("a", 2, Way::Direct)];
    let mut message = post.message(&chat("bot", "1"), "a", parts);
    message.when_unknown = wish;
    running.enqueue(vec![message], post.now()).await;
    running.quiet(LONGEST).await;
    (post, running, platform)
}

fn states(rows: &[MessageRow]) -> Vec<PartState> {
    let replies = rows.iter().filter(|row| row.kind == MessageKind::Reply);
    replies
        .flat_map(|row| row.parts.iter().map(|part| part.state))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_crashes_on_one_payload_three_times_holds_up_nobody() {
    let panics = vec![Fate::Panics; 3];
    let (_post, running, platform) =
        one(Grade::Keyed { window: None }, WhenUnknown::Repeat, &panics).await;
    let rows = running.rows().await;
    assert_eq!(states(&rows), [PartState::Failed, PartState::Sent]);
    let shown = platform.shown();
    let told = shown
        .iter()
        .filter(|shown| shown.text.contains("could not be delivered"));
    assert_eq!(told.count(), 1, "{shown:#?}");
    assert!(shown.iter().any(|shown| shown.text == "a part 2"));
    running.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_owner_decides_about_a_held_part_is_done() {
    use outbox::Verb::{Cancel, MarkSent, Retry};
    for (verb, ends, shows) in [
        (Retry, PartState::Sent, 2),
        (MarkSent, PartState::Sent, 1),
        (Cancel, PartState::Cancelled, 1),
    ] {
        let (post, running, platform) =
            one(Grade::Nothing, WhenUnknown::Hold, &[Fate::AnswerLost]).await;
        let rows = running.rows().await;
        assert_eq!(
            states(&rows),
            [PartState::Held, PartState::Sent],
            "its lane went on"
        );
        let row = rows
            .iter()
            .find(|row| row.kind == MessageKind::Reply)
            .unwrap();
        let acted = running.hand.act(row.id, Some(1), verb, post.now()).await;
        assert_eq!(acted.unwrap().unwrap().changed.len(), 1);
        running.quiet(LONGEST).await;
        let row = running.hand.show(row.id).await.unwrap().unwrap();
        assert_eq!(row.parts[0].state, ends);
        let resolved = row.parts[0].death.as_ref().unwrap().resolved.clone();
        assert_eq!(resolved.unwrap().0, verb.name());
        let shown = platform.shown();
        let shows_of: Vec<_> = shown
            .iter()
            .filter(|shown| shown.text == "a part 1")
            .collect();
        assert_eq!(shows_of.len(), shows, "{}", verb.name());
        assert!(shows_of.iter().skip(1).all(|shown| shown.marked));
        running.stopped().await;
    }
}
