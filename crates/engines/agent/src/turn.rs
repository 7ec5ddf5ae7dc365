//! One turn, from its first word to its commit.

use std::panic::AssertUnwindSafe;

use chat::{Activity, Inbound, Preview};
use futures_util::FutureExt;
use model::{Content, Message};
use outbox::StoreError;
use session::{Promised, TurnEnd, TurnRecord, TurnStart};
use tokio_util::sync::CancellationToken;
use waybill::{ChatKey, Origin, Placement, SessionScope, TaskId, TurnId, TurnScope};

use crate::attach::Gathered;
use crate::commit::{conclude, store};
use crate::line::Work;
use crate::receive::receive;
use crate::talk::{Ended, Talk};
use crate::{Ports, Tenant};

/// How often a turn that was cut off is taken up again before its person is told that it can't be finished.
const MOST_RESUMES: u32 = 2;
/// What a person reads when the gateway itself is at fault.
const MISTAKE: &str = "the gateway made a mistake in this turn; its log has the details";

/// Runs a turn to its commit. If the store fails before that, returns what has to be taken up again.
pub(crate) async fn run(
    ports: &Ports,
    install: &str,
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
    let again = finish(ports, install, work, chat.as_ref(), stop).await;
    if let Some(chat) = &chat {
        ports.outlet.preview(chat, Preview::Clear);
        ports.outlet.activity(chat, Activity::Idle);
    }
    again
}

async fn finish(
    ports: &Ports,
    install: &str,
    work: Work,
    chat: Option<&ChatKey>,
    stop: &CancellationToken,
) -> Option<Work> {
    let tenant = ports.tenants.tenant(work.session().profile());
    let tenant = tenant.as_deref();
    let anchor = work.inbound().map(|inbound| inbound.anchor.clone());
    let mut turn = match begin(ports, tenant, work).await {
        Ok(turn) => turn,
        Err(Unbegun { work, error }) => {
            tracing::error!(%error, "a turn could not be begun; it is tried again");
            return Some(*work);
        }
    };
    let talked = AssertUnwindSafe(talk(ports, tenant, &mut turn, chat, stop))
        .catch_unwind()
        .await;
    let ended = match talked {
        Ok(Ok(ended)) => ended,
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
    ports.outlet.carry(store(ports, commit).await);
    None
}

/// A turn that is durable: begun, or taken up.
struct Turn {
    scope: TurnScope,
    record: TurnRecord,
    gathered: Gathered,
    /// Why it must not go on.
    over: Option<String>,
}

impl Turn {
    fn of(record: TurnRecord, over: Option<String>) -> Self {
        let gathered = Gathered(record.promised.clone());
        Self {
            scope: record.scope.clone(),
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

/// The store did not take a turn's beginning.
struct Unbegun {
    work: Box<Work>,
    error: StoreError,
}

async fn begin(ports: &Ports, tenant: Option<&Tenant>, work: Work) -> Result<Turn, Unbegun> {
    match work {
        Work::Fresh(admitted) => {
            let placement = tenant.map_or(Placement::PerProfile, |tenant| tenant.placement);
            let scope = scope(ports, &admitted.scope, placement);
            let (message, notes) = heard(ports, tenant, &scope, &admitted.inbound).await;
            let promised = Promised {
                notes,
                ..Promised::default()
            };
            let at = ports.clock.now();
            let start = TurnStart {
                scope: scope.clone(),
                inbox: vec![admitted.id],
                message,
                promised: promised.clone(),
                at,
            };
            if let Err(error) = ports.sessions.begin_turn(start).await {
                return Err(Unbegun {
                    work: Box::new(Work::Fresh(admitted)),
                    error,
                });
            }
            let record = TurnRecord {
                scope,
                inbox: vec![admitted.id],
                inbound: Some(admitted.inbound),
                promised,
                resumed: 0,
                started_at: at,
            };
            Ok(Turn::of(record, None))
        }
        Work::Resumed(record) => match ports.sessions.count_resume(record.scope.turn()).await {
            Ok(times) if times > MOST_RESUMES => {
                let over = "the gateway was restarted in the middle of this turn, several times";
                Ok(Turn::of(*record, Some(over.to_owned())))
            }
            Ok(_) => Ok(Turn::of(*record, None)),
            Err(error) => Err(Unbegun {
                work: Box::new(Work::Resumed(record)),
                error,
            }),
        },
        Work::Retried(record) => Ok(Turn::of(*record, None)),
    }
}

fn scope(ports: &Ports, session: &SessionScope, placement: Placement) -> TurnScope {
    let ids = ports.ids.as_ref();
    let origin = session
        .chat()
        .map_or(Origin::Operator, |chat| Origin::Chat(chat.clone()));
    session.begin_turn(TurnId::fresh(ids), TaskId::fresh(ids), origin, placement)
}

/// The person's message as the model reads it, and lines that the person must read. A panic on the way costs the files, not
/// the message.
async fn heard(
    ports: &Ports,
    tenant: Option<&Tenant>,
    scope: &TurnScope,
    inbound: &Inbound,
) -> (Message, Vec<String>) {
    let words = || Message::User {
        content: vec![Content::Text {
            text: inbound.text.clone(),
        }],
    };
    let Some(tenant) = tenant else {
        return (words(), Vec::new());
    };
    match AssertUnwindSafe(receive(ports, tenant, scope, inbound))
        .catch_unwind()
        .await
    {
        Ok(received) => (received.message, received.notes),
        Err(_panic) => {
            let note =
                "⚠ The files of this message did not reach the agent: the gateway made a mistake";
            (words(), vec![note.to_owned()])
        }
    }
}

async fn talk(
    ports: &Ports,
    tenant: Option<&Tenant>,
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
    let mut talk = Talk {
        ports,
        tenant,
        scope: &turn.scope,
        chat,
        transcript: entries.into_iter().map(|entry| entry.message).collect(),
        gathered: &mut turn.gathered,
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Ended { end: TurnEnd::Interrupted, last: None }),
        ended = talk.run() => ended,
    }
}
