//! What the file means, typed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use waybill::{AccountId, ChatKey, ProfileId, Secret};

use crate::Section;

macro_rules! choice {
    ($(#[$doc:meta])* $type:ident { $($(#[$each:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$each])* $variant),+
        }

        impl $type {
            /// As the file writes them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// As the file writes it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            pub(crate) fn read(text: &str) -> Option<Self> {
                match text {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

choice! {
    /// Which protocol a provider speaks.
    Api {
        /// Chat completions.
        OpenaiChat = "openai-chat",
        /// Responses.
        OpenaiResponses = "openai-responses",
        /// Messages.
        Anthropic = "anthropic",
        /// A local server's own API.
        Ollama = "ollama",
        /// Generate content.
        Gemini = "gemini",
    }
}

choice! {
    /// How sandboxes are made, before anybody looked at the machine.
    DriverChoice {
        /// Docker if its daemon answers, else processes. Never the bare host.
        Auto = "auto",
        /// Containers.
        Docker = "docker",
        /// Namespaces on this machine.
        Process = "process",
        /// Another machine.
        Ssh = "ssh",
        /// No walls.
        Host = "host",
    }
}

choice! {
    /// How hard a model thinks before it answers.
    Reasoning {
        /// Not at all.
        None = "none",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// As much as it can.
        High = "high",
    }
}

choice! {
    /// With what the web is searched.
    SearchKind {
        /// A server of one's own, without a key.
        Searxng = "searxng",
        /// Needs a key.
        Brave = "brave",
        /// Needs a key.
        Tavily = "tavily",
    }
}

choice! {
    /// What becomes of an action that leaves the sandbox's walls.
    Approval {
        /// A person is asked each time.
        Ask = "ask",
        /// It is done.
        Allow = "allow",
        /// It is never done.
        Deny = "deny",
    }
}

choice! {
    /// What a message does while a turn runs.
    Busy {
        /// It waits for its own turn.
        Queue = "queue",
        /// It joins the running turn.
        Steer = "steer",
        /// It stops the running turn; its own comes next.
        Interrupt = "interrupt",
    }
}

choice! {
    /// What becomes of a message of which nobody can find out whether it arrived.
    WhenUnknown {
        /// It is sent again, marked.
        Repeat = "repeat",
        /// It is held for the owner.
        Hold = "hold",
    }
}

mod profile;
mod provider;

pub use profile::{
    Approvals, McpServer, McpTransport, Profile, SandboxSettings, TurnLimits, WebSearch,
    WebSettings,
};
pub use provider::{ModelChoice, ModelSettings, Provider};

/// Everything that the file says, checked. Only sections that can work are here; [`Self::disabled`] names the others.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The running gateway itself.
    pub gateway: GatewaySettings,
    /// How long things are kept.
    pub retention: Retention,
    /// Where models are found.
    pub providers: BTreeMap<String, Provider>,
    /// The tenants that can work. A route may lead to one that is not here: then the person is told, and no other profile
    /// answers.
    pub profiles: BTreeMap<ProfileId, Profile>,
    /// The accounts that can work.
    pub channels: BTreeMap<AccountId, Channel>,
    /// Which profile answers where.
    pub routes: Vec<Route>,
    /// What was left out, each with the reason.
    pub disabled: Vec<(Section, String)>,
}

impl Settings {
    /// The profile that answers in a chat: by the most specific route (thread, then chat, then account), else by the
    /// account's own profile. `None` for an account that is not in [`Self::channels`]: nobody answers there. The web chat has no route;
    /// it names its profile itself.
    #[must_use]
    pub fn profile_for(&self, chat: &ChatKey) -> Option<&ProfileId> {
        let channel = self.channels.get(&chat.account)?;
        self.routes
            .iter()
            .filter(|route| route.matches(chat))
            .max_by_key(|route| (route.chat.is_some(), route.thread.is_some()))
            .map_or(Some(&channel.profile), |route| Some(&route.profile))
    }

    /// The profile that a route names for this very chat or a thread of it; `None` if no route does.
    #[must_use]
    pub fn routed(&self, chat: &ChatKey) -> Option<&ProfileId> {
        self.channels.get(&chat.account)?;
        self.routes
            .iter()
            .filter(|route| route.chat.is_some() && route.matches(chat))
            .max_by_key(|route| route.thread.is_some())
            .map(|route| &route.profile)
    }

    /// Whether a list of groups or a route names the conversation by its id.
    #[must_use]
    pub fn names(&self, chat: &ChatKey) -> bool {
        let id = chat.conversation.as_str();
        let access = self
            .channels
            .get(&chat.account)
            .map(|channel| &channel.access);
        let listed = access.is_some_and(|access| {
            let mut ids = access
                .groups
                .allow
                .iter()
                .chain(&access.owner)
                .chain(&access.allow);
            ids.any(|listed| listed == id)
        });
        let mut routes = self.routes.iter();
        listed
            || routes
                .any(|route| route.channel == chat.account && route.chat.as_deref() == Some(id))
    }
}

/// `[gateway]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewaySettings {
    /// Where the web chat and the API listen; a loopback address.
    pub listen: SocketAddr,
    /// How long running turns may take to end.
    pub drain_seconds: u64,
    /// The filter of the log.
    pub log: String,
}

/// `[retention]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Messages that are done.
    pub sent: Duration,
    /// The words and files of parts that were sent, and of events that were handled.
    pub words: Duration,
    /// Messages that could not be delivered.
    pub dead: Duration,
    /// Keys of events; at least 7 days (WhatsApp repeats for so long).
    pub inbox: Duration,
    /// The text of events that concerned nobody.
    pub ignored: Duration,
    /// Files that nothing names.
    pub blob_grace: Duration,
    /// Conversations in which nothing happened; `None` is for ever.
    pub conversations: Option<Duration>,
}

/// `[channels.NAME]`
#[derive(Debug, Clone)]
pub struct Channel {
    /// Which service, and how to log in.
    pub kind: ChannelKind,
    /// The profile that answers, unless a route says otherwise.
    pub profile: ProfileId,
    /// Who may talk.
    pub access: Access,
    /// What a message does while a turn runs.
    pub busy: Busy,
    /// What becomes of a message of which nobody can find out whether it arrived.
    pub when_unknown: WhenUnknown,
    /// How many messages a second the service takes from this account in all.
    pub messages_per_second: u32,
    /// Chats that the account is no member of. Not in force yet.
    pub guest: Guest,
}

/// A chat service with its login.
#[derive(Debug, Clone)]
pub enum ChannelKind {
    /// Telegram's Bot API.
    Telegram {
        /// The bot's token.
        token: Secret,
        /// Where the API begins; no slash at the end.
        api_base: String,
    },
}

/// Who may talk through an account. All ids are texts in their shortest form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// People who may do everything.
    pub owner: Vec<String>,
    /// People who may talk.
    pub allow: Vec<String>,
    /// Strangers get a pairing code. Not in force yet.
    pub pairing: bool,
    /// Group chats.
    pub groups: Groups,
}

/// `[channels.NAME.groups]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Groups in which the agent answers.
    pub allow: Vec<String>,
    /// Answer only if spoken to.
    pub require_mention: bool,
}

/// `[channels.NAME.guest]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Answer there.
    pub enabled: bool,
    /// Through which chat files pass.
    pub staging_chat: Option<String>,
}

/// `[[routes]]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The account.
    pub channel: AccountId,
    /// Only this chat.
    pub chat: Option<String>,
    /// Only this thread of it; never without a chat.
    pub thread: Option<String>,
    /// Who answers.
    pub profile: ProfileId,
}

impl Route {
    fn matches(&self, chat: &ChatKey) -> bool {
        let thread = chat.thread.as_ref().map(waybill::Thread::as_str);
        self.channel == chat.account
            && self
                .chat
                .as_ref()
                .is_none_or(|id| id == chat.conversation.as_str())
            && self
                .thread
                .as_ref()
                .is_none_or(|id| Some(id.as_str()) == thread)
    }
}
