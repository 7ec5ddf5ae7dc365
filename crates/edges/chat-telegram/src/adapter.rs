//! The adapter: the port on one side, Telegram's parts on the other.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Activity, CarrierRule, ChatAdapter, Delivery, Descriptor, Done, DownloadError, Fault,
    FaultKind, FileHandle, Grade, Identity, InboundSink, ListenError, Op, PhotoRule, Preview, Rate,
    Rates, Readers, Rendering, Step,
};
use sandbox::{BlobStore, BlobWriter};
use serde_json::json;
use waybill::{AccountId, ChatKey, Clock, Limit};

use crate::api::Api;
use crate::carrier;
use crate::classify::Effect;
use crate::deliver::{address, deliver};
use crate::fetch::fetch;
use crate::inbound::Me;
use crate::listen::listen;
use crate::outgoing::RESERVE;
use crate::taps::{self, Asked};
use crate::wire::User;
use crate::{Options, OptionsError};

/// How long the platform may still be at work on a call whose answer was lost.
const SETTLE: Duration = Duration::from_secs(2);

/// Small files and short answers are on the wire for a moment; what takes longer, or is worse to read twice, goes in two
/// phases.
const CARRIER: CarrierRule = CarrierRule {
    file_bytes: 1_000_000,
    text_parts: 4,
};

/// Most attempts of a bot on the wire at once: more than its published rate can use.
const AT_ONCE: usize = 30;

/// How long "is typing" rests after the platform did not want the account's calls.
const TYPING_REST: Duration = Duration::from_secs(60);

/// One bot.
pub struct Telegram {
    options: Options,
    api: Api,
    clock: Arc<dyn Clock>,
    descriptor: Descriptor,
    me: Mutex<Option<Me>>,
    /// Questions whose buttons are shown.
    asked: Asked,
    /// "Is typing" rests until then, in milliseconds since 1970.
    typing_rests_until: AtomicI64,
}

impl fmt::Debug for Telegram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Telegram")
            .field("account", &self.options.account)
            .finish_non_exhaustive()
    }
}

impl Telegram {
    /// Sets an account up; nothing is sent yet.
    ///
    /// # Errors
    /// [`OptionsError`], for the owner.
    pub fn new(
        options: Options,
        client: net::Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OptionsError> {
        options.check()?;
        let api = Api::new(
            options.account.clone(),
            options.token.clone(),
            &options.api_base,
            client,
        );
        let descriptor = descriptor(&options);
        Ok(Self {
            options,
            api,
            clock,
            descriptor,
            me: Mutex::new(None),
            asked: Asked::default(),
            typing_rests_until: AtomicI64::new(i64::MIN),
        })
    }

    pub(crate) fn name(&self) -> &AccountId {
        &self.options.account
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// A number in 0..1 that differs from account to account and from moment to moment.
    pub(crate) fn chance(&self) -> f64 {
        let seed = self.clock.now().as_millisecond().wrapping_add(self.seed());
        f64::from(u32::try_from(seed.rem_euclid(997)).unwrap_or(0)) / 997.0
    }

    /// Differs from account to account.
    fn seed(&self) -> i64 {
        self.options
            .account
            .as_str()
            .bytes()
            .fold(7_i64, |seed, byte| {
                seed.wrapping_mul(31).wrapping_add(i64::from(byte))
            })
    }

    /// Who we are, as we were told last; asked if we never were.
    pub(crate) async fn me(&self) -> Result<Me, Fault> {
        let known = self.known().clone();
        match known {
            Some(me) => Ok(me),
            None => self.ask_me().await,
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<Me>> {
        self.me.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_me(&self) -> Result<Me, Fault> {
        let user: User = self
            .api
            .call(Effect::Repeatable, "getMe", &json!({}))
            .await?;
        let me = Me {
            id: user.id,
            username: user.username.unwrap_or_default(),
        };
        *self.known() = Some(me.clone());
        Ok(me)
    }

    async fn type_on(&self, chat: &ChatKey) -> Result<(), Fault> {
        let mut parameters = address(chat)?;
        if let Some(thread) = chat
            .thread
            .as_ref()
            .and_then(|thread| thread.as_str().parse::<i64>().ok())
        {
            // Even in the general topic, whose id messages must leave out.
            parameters.insert("message_thread_id".to_owned(), thread.into());
        }
        parameters.insert("action".to_owned(), "typing".into());
        let _shown: bool = self
            .api
            .call(Effect::Repeatable, "sendChatAction", &parameters)
            .await?;
        Ok(())
    }
}

fn descriptor(options: &Options) -> Descriptor {
    let types = |types: &[&str]| types.iter().map(|one| (*one).to_owned()).collect();
    Descriptor {
        kind: "telegram".to_owned(),
        rendering: Rendering::Rich,
        // Bot API 10.3: 4,096 and 1,024 UTF-16 units.
        text: Limit::Utf16(4096 - RESERVE),
        caption: Some(Limit::Utf16(1024 - RESERVE)),
        file_out: options.file_out,
        file_in: options.file_in,
        photo: Some(PhotoRule {
            bytes: 10_000_000,
            types: types(&["image/png", "image/jpeg", "image/webp"]),
        }),
        voice: types(&[
            "audio/ogg",
            "audio/opus",
            "audio/mpeg",
            "audio/mp4",
            "audio/m4a",
            "audio/x-m4a",
        ]),
        previews: false,
        typing_seconds: Some(4),
        grade: Grade::TwoPhase,
        settle: SETTLE,
        carrier: Some(CARRIER),
        rates: rates(options.per_second),
        when_unknown: options.when_unknown,
    }
}

/// What is published (Bot API FAQ: about one message a second in a chat, short bursts allowed, 20 a minute in a group, about 30
/// a second in all, more if paid for), each window a little longer: calls reach the platform closer together than they left.
fn rates(per_second: u32) -> Rates {
    let rate = |calls, milliseconds| Rate {
        calls,
        per: Duration::from_millis(milliseconds),
    };
    Rates {
        account: vec![rate(per_second, 1_030)],
        direct: vec![rate(10, 10_200)],
        group: vec![rate(10, 10_200), rate(20, 61_200)],
        in_flight: AT_ONCE.max(usize::try_from(per_second).unwrap_or(AT_ONCE) / 4),
    }
}

#[async_trait]
impl ChatAdapter for Telegram {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn account(&self) -> &AccountId {
        &self.options.account
    }

    async fn listen(&self, sink: &dyn InboundSink) -> Result<Infallible, ListenError> {
        Ok(listen(self, sink).await)
    }

    async fn deliver(&self, delivery: Delivery<'_>, blobs: &dyn BlobStore) -> Result<Done, Fault> {
        let op = delivery.op;
        let done = deliver(&self.api, self.options.file_out, delivery, blobs).await?;
        if let (Op::Question { body, question, .. }, Done::All(receipt)) = (op, &done) {
            self.asked.note(question, receipt, body);
        }
        Ok(done)
    }

    async fn withdraw(&self, chat: &ChatKey, step: &Step) {
        carrier::take_away(&self.api, chat, step).await;
    }

    fn readers(&self, chat: &ChatKey) -> Readers {
        // Groups and channels have negative ids or, public ones, names.
        match chat.conversation.as_str().parse::<i64>() {
            Ok(id) if id > 0 => Readers::One,
            Ok(_) | Err(_) => Readers::Several,
        }
    }

    async fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    async fn activity(&self, chat: &ChatKey, activity: Activity) {
        match activity {
            Activity::Typing => {}
            Activity::Tapped { id, says, over } => {
                return taps::answer(&self.api, chat, &id, &says, over.as_ref()).await;
            }
            Activity::Answered { question, outcome } => {
                return self.asked.over(&self.api, chat, &question, &outcome).await;
            }
            Activity::ToolBegan { .. } | Activity::ToolEnded { .. } | Activity::Idle => return,
        }
        let now = self.clock.now().as_millisecond();
        if now < self.typing_rests_until.load(Ordering::Relaxed) {
            return;
        }
        let rest = match self.type_on(chat).await.map_err(|fault| fault.kind) {
            Err(FaultKind::Throttled { after, .. }) => after,
            Err(FaultKind::PermAccount) => TYPING_REST,
            // It is only an ornament.
            Ok(()) | Err(_) => return,
        };
        let rest = i64::try_from(rest.as_millis()).unwrap_or(i64::MAX);
        self.typing_rests_until
            .store(now.saturating_add(rest), Ordering::Relaxed);
    }

    async fn fetch(
        &self,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        fetch(&self.api, self.options.file_in, file, limit, into).await
    }

    async fn identify(&self) -> Result<Identity, Fault> {
        let me = self.ask_me().await?;
        Ok(Identity {
            id: me.id.to_string(),
            name: format!("@{}", me.username),
        })
    }
}
