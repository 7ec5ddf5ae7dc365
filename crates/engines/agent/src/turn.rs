//! One turn, from its first word to its commit.

use std::panic::AssertUnwindSafe;

use chat::{Activity, Inbound, Preview};
use futures_util::FutureExt;
use model::{Content, Message};
use outbox::StoreError;
use session::window::Window;
use session::{
    Admission, Admitted, Asker, Came, DOUBTED, MOST_TAKES, Promised, Take, TakenIn, TurnEnd,
    TurnRecord, TurnStart,
};
use tokio_util::sync::CancellationToken;
use waybill::{Anchor, ChatKey, Origin, Placement, SessionScope, TaskId, TurnId, TurnScope};

use crate::attach::Gathered;
use crate::commit::{conclude, store};
use crate::fill::Fixed;
use crate::line::{Seat, Work};
use crate::receive::receive;
use crate::talk::{Ended, Talk};
use crate::{Ports, Tenant, guard, knowledge, prompt, redaction, tools};

/// How often a turn that was cut off is taken up again before its person is told that it can't be finished. As often as an event
/// may end the process before it is put aside: a turn that merely ran meanwhile gets to its end.
const MOST_RESUMES: u32 = MOST_TAKES;
/// What a person reads of a turn that ran when a copy of the database was made.
const PUT_BACK: &str = "the gateway's database was put back from a copy that was made in the middle of this turn, so what became of it since is \
     not known; ask again if you still need it";
/// What stands before a message that waited when a copy of the database was made.
const MAYBE_ANSWERED: &str =
    "[the database was put back from a copy; this may have been answered already]\n";
/// Why such a turn ends.
const OFTEN_RESTARTED: &str = "the gateway was restarted in the middle of this turn, several times";
/// What a person reads when the conversation itself is damaged.
const UNREADABLE: &str = "what was said before can't be read any more; the gateway's log says which row is damaged. \
                          `/new` begins another conversation";
/// What a person reads when the gateway itself is at fault.
const MISTAKE: &str = "the gateway made a mistake in this turn; its log has the details";

/// Runs a turn to its commit. If the store fails before that, returns what has to be taken up again.
pub(crate) async fn run(
    ports: &Ports,
    install: &str,
    seat: Seat<'_>,
    work: Work,
    stop: &CancellationToken,
) -> Option<Work> {
    let session = work.session();
    let chat = session.chat().cloned();
    if let Some(chat) = &chat {
        if ports.outlet.descriptor(&chat.account).is_none() {
            tracing::error!(
                account = %chat.account,
                "a message waits for its account, which is not configured; it is taken up when the account is"
            );
            return None;
        }
        ports.outlet.activity(chat, Activity::Typing);
    }
    let again = finish(ports, install, seat, work, chat.as_ref(), stop).await;
    if let Some(chat) = &chat {
        ports.outlet.preview(chat, Preview::Clear);
        ports.outlet.activity(chat, Activity::Idle);
    }
    again
}

async fn finish(
    ports: &Ports,
    install: &str,
    seat: Seat<'_>,
    mut work: Work,
    chat: Option<&ChatKey>,
    stop: &CancellationToken,
) -> Option<Work> {
    let tenant = ports.tenants.tenant(work.session().profile());
    let tenant = tenant.as_deref();
    let begun = AssertUnwindSafe(begin(ports, tenant, seat, &mut work)).catch_unwind();
    let mut turn = match begun.await {
        Ok(Ok(Some(turn))) => turn,
        Ok(Ok(None)) => return None,
        Ok(Err(error)) => return not_begun(ports, seat, work, error).await,
        Err(_panic) => return once_more(ports, work).await,
    };
    seat.begun();
    let anchor = turn.anchor.clone();
    let talked = AssertUnwindSafe(talk(ports, tenant, seat, &mut turn, chat, stop))
        .catch_unwind()
        .await;
    let ended = match talked {
        Ok(Ok(ended)) => ended,
        // Time does not heal it.
        Ok(Err(error @ StoreError::Unreadable { .. })) => {
            tracing::error!(turn = %turn.scope.turn(), %error, "the conversation can't be read");
            Ended::failed(UNREADABLE)
        }
        Ok(Err(error)) => {
            tracing::error!(turn = %turn.scope.turn(), %error, "a step could not be stored; it is tried again");
            return Some(turn.again());
        }
        Err(_panic) => Ended::failed(MISTAKE),
    };
    let scope = turn.scope;
    let gathered = turn.gathered;
    let put_together = || {
        conclude(
            ports,
            install,
            &scope,
            anchor.clone(),
            tenant,
            ended,
            gathered,
        )
    };
    let commit =
        std::panic::catch_unwind(AssertUnwindSafe(put_together)).unwrap_or_else(|_panic| {
            let (ended, nothing) = (Ended::failed(MISTAKE), Gathered::default());
            conclude(
                ports,
                install,
                &scope,
                anchor.clone(),
                tenant,
                ended,
                nothing,
            )
        });
    failpoint::point("C3");
    let claimed = store(ports, commit).await;
    failpoint::point("C4");
    ports.outlet.carry(claimed);
    None
}

/// A turn could not be begun. It is tried again if time may help; else it holds up nothing that waits behind it.
async fn not_begun(ports: &Ports, seat: Seat<'_>, work: Work, error: StoreError) -> Option<Work> {
    let over = match (&work, &error) {
        (Work::Fresh(admitted), StoreError::Unreadable { .. }) => {
            let aside = Admission::PutAside {
                reason: error.to_string(),
            };
            let now = ports.clock.now();
            let put = ports.inbox.admit(admitted.id, aside, now).await;
            put.map(|claimed| {
                ports.outlet.carry(claimed);
                seat.settled(admitted.id);
                true
            })
        }
        // It may have ended; and one that can't be read is ended by who reads it here.
        (Work::Resumed(record), _) => ports.sessions.running_turns().await.map(|running| {
            let mut turns = running.iter().map(|turn| turn.scope.turn());
            !turns.any(|turn| turn == record.scope.turn())
        }),
        (Work::Fresh(_) | Work::Retried(_), _) => Ok(false),
    };
    match over {
        Ok(true) => {
            tracing::error!(%error, "a turn could not be begun and can never be; its line goes on without it");
            None
        }
        Ok(false) => {
            tracing::error!(%error, "a turn could not be begun; it is tried again");
            Some(work)
        }
        Err(again) => {
            tracing::error!(%error, %again, "a turn could not be begun; it is tried again");
            Some(work)
        }
    }
}

/// The beginning of a turn panicked: its event is counted, and in the end put aside.
async fn once_more(ports: &Ports, work: Work) -> Option<Work> {
    let Work::Fresh(admitted) = &work else {
        tracing::error!("taking up a turn panicked; it is tried again");
        return Some(work);
    };
    tracing::error!(inbox = admitted.id.0, "the beginning of a turn panicked");
    match ports.inbox.take(admitted.id).await {
        Ok(Take::Go) => Some(work),
        Ok(Take::No) => None,
        Err(error) => {
            tracing::error!(%error, "the event could not be counted; it is tried again");
            Some(work)
        }
    }
}

/// Ends whatever turn the store says is running in a conversation.
pub(crate) async fn abandon(
    ports: &Ports,
    install: &str,
    session: &SessionScope,
) -> Result<(), StoreError> {
    let running = ports.sessions.running_turns().await?.into_iter();
    for record in running.filter(|record| record.scope.session().id() == session.id()) {
        let tenant = ports.tenants.tenant(session.profile());
        let commit = conclude(
            ports,
            install,
            &record.scope,
            record.inbound.map(|inbound| inbound.anchor),
            tenant.as_deref(),
            Ended::failed(MISTAKE),
            Gathered(record.promised),
        );
        let claimed = store(ports, commit).await;
        ports.outlet.carry(claimed);
    }
    Ok(())
}

/// A turn that is durable: begun, or taken up.
struct Turn {
    scope: TurnScope,
    /// The message that its answer is anchored to.
    anchor: Option<Anchor>,
    record: TurnRecord,
    gathered: Gathered,
    /// Why it must not go on.
    over: Option<String>,
}

impl Turn {
    fn of(record: TurnRecord, over: Option<String>) -> Self {
        let gathered = Gathered(record.promised.clone());
        let inbound = record.inbound.as_ref();
        Self {
            scope: record.scope.clone(),
            anchor: inbound.map(|inbound| inbound.anchor.clone()),
            record,
            gathered,
            over,
        }
    }

    /// The same turn, to be taken up in a moment from what the store has.
    fn again(self) -> Work {
        Work::Retried(Box::new(TurnRecord {
            promised: self.gathered.0,
            ..self.record
        }))
    }
}

/// Makes a turn durable; `None` if there is nothing left to do.
async fn begin(
    ports: &Ports,
    tenant: Option<&Tenant>,
    seat: Seat<'_>,
    work: &mut Work,
) -> Result<Option<Turn>, StoreError> {
    match work {
        Work::Fresh(admitted) => begin_fresh(ports, tenant, seat, admitted).await,
        Work::Resumed(record) => {
            let times = ports.sessions.count_resume(record.scope.turn()).await?;
            let over = match times {
                // Counted this time, too.
                doubted if doubted > DOUBTED => Some(PUT_BACK.to_owned()),
                often if often > MOST_RESUMES => Some(OFTEN_RESTARTED.to_owned()),
                _ => None,
            };
            Ok(Some(Turn::of(TurnRecord::clone(record), over)))
        }
        Work::Retried(record) => Ok(Some(Turn::of(TurnRecord::clone(record), None))),
    }
}

async fn begin_fresh(
    ports: &Ports,
    tenant: Option<&Tenant>,
    seat: Seat<'_>,
    admitted: &mut Admitted,
) -> Result<Option<Turn>, StoreError> {
    let mut alone = None;
    if let Came::Before { taken } = admitted.came {
        if taken > 0 {
            alone = Some(seat.alone().await);
        }
        if ports.inbox.take(admitted.id).await? == Take::No {
            return Ok(None);
        }
        // Counted; a store that fails from here on is no crash.
        admitted.came = Came::Now;
    }
    seat.counted(admitted.id);
    failpoint::point("I2");
    let begun = loop {
        let placement = tenant.map_or(Placement::PerProfile, |tenant| tenant.placement);
        let scope = scope(ports, &admitted.scope, placement);
        let (message, notes) = heard(ports, tenant, &scope, admitted).await;
        let record = TurnRecord {
            scope,
            inbox: vec![admitted.id],
            inbound: Some(admitted.inbound.clone()),
            promised: Promised {
                notes,
                labels: guard::of_message(&admitted.inbound),
                askers: vec![asker(&admitted.inbound)],
                ..Promised::default()
            },
            resumed: 0,
            started_at: ports.clock.now(),
        };
        let start = TurnStart {
            scope: record.scope.clone(),
            inbox: vec![admitted.heard()],
            before: redaction::before(&ports.redactor, &admitted.inbound),
            message,
            promised: record.promised.clone(),
            at: record.started_at,
        };
        match ports.sessions.begin_turn(start).await? {
            TakenIn::Yes => break Some(Turn::of(record, None)),
            TakenIn::Changed(rows) => match rows.into_iter().next() {
                Some(row) => *admitted = admitted.clone().reread(row),
                None => {
                    tracing::warn!(
                        inbox = admitted.id.0,
                        "an event does not wait any more; its turn is not begun"
                    );
                    break None;
                }
            },
        }
    };
    seat.settled(admitted.id);
    drop(alone);
    Ok(begun)
}

/// Whose message it is.
pub(crate) fn asker(inbound: &Inbound) -> Asker {
    Asker {
        sender: inbound.sender.clone(),
        place: inbound.place,
    }
}

fn scope(ports: &Ports, session: &SessionScope, placement: Placement) -> TurnScope {
    let ids = ports.ids.as_ref();
    let origin = session
        .chat()
        .map_or(Origin::Operator, |chat| Origin::Chat(chat.clone()));
    session.begin_turn(TurnId::fresh(ids), TaskId::fresh(ids), origin, placement)
}

/// The person's message as the model reads it, without known secrets, and lines that the person must read. A panic on the way
/// costs the files, not the message.
pub(crate) async fn heard(
    ports: &Ports,
    tenant: Option<&Tenant>,
    scope: &TurnScope,
    admitted: &Admitted,
) -> (Message, Vec<String>) {
    let inbound = &admitted.inbound;
    let words = || Message::User {
        content: vec![Content::Text {
            text: inbound.text.clone(),
        }],
    };
    let received = match tenant {
        None => Ok((words(), Vec::new())),
        Some(tenant) => AssertUnwindSafe(receive(ports, tenant, scope, inbound))
            .catch_unwind()
            .await
            .map(|received| (received.message, received.notes)),
    };
    let (mut message, notes) = received.unwrap_or_else(|_panic| {
        let note =
            "⚠ The files of this message did not reach the agent: the gateway made a mistake";
        (words(), vec![note.to_owned()])
    });
    if admitted.version >= DOUBTED
        && let Message::User { content } = &mut message
    {
        let text = MAYBE_ANSWERED.to_owned();
        content.insert(0, Content::Text { text });
    }
    let redactor = &ports.redactor;
    let notes = notes.into_iter().map(|note| redaction::own(redactor, note));
    (redaction::message(redactor, message), notes.collect())
}

async fn talk(
    ports: &Ports,
    tenant: Option<&Tenant>,
    seat: Seat<'_>,
    turn: &mut Turn,
    chat: Option<&ChatKey>,
    stop: &CancellationToken,
) -> Result<Ended, StoreError> {
    if let Some(over) = turn.over.take() {
        return Ok(Ended::failed(over));
    }
    let Some(tenant) = tenant else {
        let profile = turn.scope.profile();
        return Ok(Ended::failed(format!(
            "the profile '{profile}' is not configured"
        )));
    };
    let entries = ports.sessions.transcript(turn.scope.session().id()).await?;
    let known = knowledge::block(ports, tenant, seat, &turn.scope, &turn.gathered.0.askers).await;
    let system = format!("{}{known}", prompt::system_prompt(tenant));
    let system = redaction::own(&ports.redactor, system);
    let mut talk = Talk {
        ports,
        tenant,
        seat,
        scope: &turn.scope,
        chat,
        transcript: entries.into_iter().map(|entry| entry.message).collect(),
        gathered: &mut turn.gathered,
        fixed: Fixed::new(system, tools::specs(tenant), Window::of(None)),
        compactions: 0,
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Ended { end: TurnEnd::Interrupted, last: None }),
        ended = talk.run() => ended,
    }
}
