use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chat::ChatAdapter;
use conformance::chat::{Ability, ChatWorld, Seen, Trouble};
use testkit::clock::ManualClock;
use testkit::telegram::{Rule, Said, Telegram as Fake, Trouble as Fault};
use tidings_chat_telegram::{Options, Pace, Telegram};
use waybill::{AccountId, Anchor, ChatKey, Conversation, Secret, Thread};

pub(crate) const TOKEN: &str = "777001:AAtest-SECRET_token";
pub(crate) const ANN: i64 = 111;
pub(crate) const FORUM: i64 = -1_001_234_567_890;
pub(crate) const TOPIC: i64 = 9;

/// A fake with one bot, and what an adapter needs to reach it.
pub(crate) struct World {
    pub(crate) fake: Fake,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) fn account() -> AccountId {
    AccountId::parse("home-bot").unwrap()
}

pub(crate) fn chat(id: i64) -> ChatKey {
    ChatKey::new(account(), Conversation::new(id.to_string()).unwrap())
}

pub(crate) fn topic(id: i64, thread: i64) -> ChatKey {
    chat(id).in_thread(Thread::new(thread.to_string()).unwrap())
}

/// Troubles pass quickly here.
pub(crate) fn options(api_base: String) -> Options {
    let soon = Duration::from_millis(20);
    Options {
        api_base,
        poll: Duration::from_secs(5),
        poll_grace: Duration::from_secs(5),
        pace: Pace {
            network_first: soon,
            network_most: soon,
            conflict_first: soon,
            conflict_most: soon,
            revoked: soon,
        },
        ..Options::new(account(), Secret::new(TOKEN.to_owned()))
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let fake = Fake::start().await.unwrap();
        fake.add_bot(TOKEN, "tidings_bot");
        fake.open_chat(TOKEN, ANN);
        Self {
            fake,
            clock: Arc::default(),
        }
    }

    pub(crate) fn telegram(&self, change: impl FnOnce(&mut Options)) -> Telegram {
        let mut options = options(self.fake.api_base());
        change(&mut options);
        let client = net::Client::new(net::Options::default()).unwrap();
        Telegram::new(options, client, self.clock.clone()).unwrap()
    }

    /// Every request after `nothing more` is a failure of the test.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.fake.violations(), [] as [String; 0]);
    }
}

fn ids(chat: &ChatKey) -> (i64, Option<i64>) {
    let thread = chat
        .thread
        .as_ref()
        .map(|thread| thread.as_str().parse().unwrap());
    (chat.conversation.as_str().parse().unwrap(), thread)
}

#[async_trait]
impl ChatWorld for World {
    async fn build() -> Self {
        Self::new().await
    }

    fn adapter(&self) -> Arc<dyn ChatAdapter> {
        Arc::new(self.telegram(|_| ()))
    }

    fn chat(&self) -> ChatKey {
        chat(ANN)
    }

    fn thread(&self) -> Option<ChatKey> {
        Some(topic(FORUM, TOPIC))
    }

    async fn visible(&self, chat: &ChatKey) -> Vec<Seen> {
        let (id, thread) = ids(chat);
        let mut shown = self.fake.chat(TOKEN, id);
        shown.retain(|shown| shown.thread == thread);
        shown
            .into_iter()
            .map(|shown| Seen {
                text: shown
                    .file
                    .as_ref()
                    .map_or(shown.text, |file| file.caption.clone().unwrap_or_default()),
                file: shown.file.map(|file| (file.name, file.bytes)),
                answers: shown.reply_to.map(|id| Anchor::new(id.to_string())),
            })
            .collect()
    }

    fn trouble(&self, trouble: Trouble) -> Ability {
        match trouble {
            Trouble::Flood(wait) => self
                .fake
                .script(Rule::on("sendMessage"), Fault::Flood(wait.as_secs())),
            Trouble::LostAnswer => self
                .fake
                .script(Rule::on("sendMessage"), Fault::AcceptThenDrop),
            Trouble::Revoked => self.fake.revoke(TOKEN),
            Trouble::Restored => self.fake.restore(TOKEN),
        }
        Ability::Yes
    }

    async fn close(&self) -> Ability {
        self.fake.stop().await;
        Ability::Yes
    }

    async fn says(&self, chat: &ChatKey, text: &str) -> Anchor {
        let (id, thread) = ids(chat);
        let mut said = Said::text(text).by(ANN, "Ann");
        if id != ANN {
            said = said.in_group(id);
        }
        if let Some(thread) = thread {
            said = said.topic(thread);
        }
        Anchor::new(self.fake.say(TOKEN, said).message_id.to_string())
    }

    async fn sends(&self, name: &str, bytes: Bytes) {
        self.fake.say(
            TOKEN,
            Said::document(name, "application/pdf", bytes).by(ANN, "Ann"),
        );
    }

    async fn poison(&self) -> Ability {
        let broken =
            serde_json::json!({"message": {"message_id": "not a number", "chat": [], "date": -1}});
        self.fake.update(TOKEN, broken);
        Ability::Yes
    }

    fn unacknowledged(&self) -> usize {
        self.fake.pending(TOKEN)
    }

    fn violations(&self) -> Vec<String> {
        self.fake.violations()
    }
}
