//! One connection to a server, from its greeting to its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redact::Redactor;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tool::ToolError;

use crate::handler::Handler;
use crate::http::Http;
use crate::listing::{self, Listed};
use crate::program::{self, Running};
use crate::watched::{End, Watched};
use crate::{Limits, Options, Reach, text};

/// Rounds in which a server may ask back for input before it gives a result; each is declined.
const ROUNDS: usize = 3;
/// Longest rest between two tries to open a stream again. The connection is looked after beside it.
const STREAM_REST: Duration = Duration::from_secs(60);
/// Tries, before calls that wait for the stream fail.
const STREAM_TRIES: usize = 8;
/// Characters of a server's own words on a failure.
const WORDS: usize = 1_000;

/// How a connection begins. Servers of the protocol's older revisions want a greeting, those of newer ones none; and some of the older
/// ones die of the newer question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Asks which revision it is, and greets if it is an older one.
    Asked,
    /// Greets as ever.
    Plain,
}

impl Greeting {
    /// The other one, for the next try.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Asked => Self::Plain,
            Self::Plain => Self::Asked,
        }
    }

    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Asked => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Self::Plain => ClientLifecycleMode::Initialize,
        }
    }
}

/// A connection.
pub(crate) struct Connection {
    server: String,
    service: RunningService<RoleClient, Handler>,
    handler: Handler,
    end: End,
    /// Dropped with the connection, and the program ends with it.
    _program: Option<Running>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) async fn open(
        options: &Options,
        client: &net::Client,
        redactor: &Arc<Redactor>,
        greeting: Greeting,
    ) -> Result<Self, String> {
        let handler = Handler::new(&options.name);
        let end = End::default();
        let (served, program) = match &options.reach {
            Reach::Program(program) => {
                let (pipes, running) =
                    program::start(&options.name, program, redactor, &end).await?;
                let served = serve(handler.clone(), pipes, &end, greeting).await;
                (served, Some(running))
            }
            Reach::Address(address) => {
                let http = Http::new(client.clone(), address.clone());
                let transport = StreamableHttpClientTransport::with_client(http, config());
                (
                    serve(handler.clone(), transport, &end, greeting).await,
                    None,
                )
            }
        };
        match served {
            Ok(service) => Ok(Self {
                server: options.name.clone(),
                service,
                handler,
                end,
                _program: program,
            }),
            Err(error) => Err(unopened(&error, &end, program).await),
        }
    }

    /// Its tools.
    ///
    /// # Errors
    /// Why there is no list, for people.
    pub(crate) async fn list(
        &self,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Vec<Listed>, String> {
        tokio::select! {
            biased;
            listed = listing::list(self.service.peer(), &self.server, only) => listed,
            () = self.end.wait() => Err(self.ended_because()),
        }
    }

    /// Calls a tool, by the server's own name. Dropped, the server is told that nobody waits any more.
    ///
    /// # Errors
    /// [`ToolError`].
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        limits: &Limits,
    ) -> Result<CallToolResult, ToolError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        let call = self.service.call_tool_with_mrtr_max_rounds(params, ROUNDS);
        tokio::pin!(call);
        let mut progress = self.handler.progress();
        let begun = Instant::now();
        let all = begun + limits.call_in_all;
        loop {
            let since = (*progress.borrow_and_update()).max(begun);
            let silent = since + limits.call;
            tokio::select! {
                biased;
                answer = &mut call => return answer.map_err(|error| self.failed(error)),
                () = self.end.wait() => return Err(self.broken()),
                _ = progress.changed() => {}
                () = tokio::time::sleep_until(silent.min(all)) => {
                    let after = if all <= silent { limits.call_in_all } else { limits.call };
                    return Err(ToolError::TimedOut { server: self.server.clone(), after });
                }
            }
        }
    }

    /// Resolves when the server says that its tools changed; for ever pending where it can't.
    pub(crate) async fn changed(&self) {
        if self.is_newer() {
            self.changed_newer().await;
        } else {
            self.handler.changed().notified().await;
        }
    }

    /// Whether it speaks a revision without a greeting, where such news must be asked for.
    fn is_newer(&self) -> bool {
        let info = self.service.peer().peer_info();
        info.is_some_and(|info| !info.protocol_version.has_initialize())
    }

    async fn changed_newer(&self) {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = match self.service.peer().listen(filter).await {
            Ok(subscription) => subscription,
            // It can't; the list is asked for now and then.
            Err(_unable) => return std::future::pending().await,
        };
        loop {
            match subscription.next().await {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => return,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return std::future::pending().await,
            }
        }
    }

    /// Resolves when it is over.
    pub(crate) async fn ended(&self) {
        self.end.wait().await;
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_over()
    }

    /// Why it ended, for people.
    pub(crate) fn ended_because(&self) -> String {
        self.end
            .why()
            .unwrap_or_else(|| "it ended the connection".to_owned())
    }

    fn broken(&self) -> ToolError {
        ToolError::Away {
            server: self.server.clone(),
            cause: format!(
                "{} while it worked; what was asked may have happened all the same",
                self.ended_because()
            ),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the protocol's library adds kinds of failure; each says what it is"
    )]
    fn failed(&self, error: ServiceError) -> ToolError {
        let words = |words: &str| text::clean(words, WORDS);
        match error {
            ServiceError::McpError(told) => {
                ToolError::Failed(format!("{} refused: {}", self.server, words(&told.message)))
            }
            ServiceError::TransportClosed => self.broken(),
            ServiceError::TransportSend(error) => ToolError::Away {
                server: self.server.clone(),
                cause: words(&innermost(&error)),
            },
            ServiceError::UnexpectedResponse => ToolError::Failed(format!(
                "{} gave an answer that is no result of a tool",
                self.server
            )),
            other => ToolError::Failed(format!("{}: {}", self.server, words(&other.to_string()))),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.service.cancellation_token().cancel();
    }
}

async fn serve<T: Transport<RoleClient> + 'static>(
    handler: Handler,
    transport: T,
    end: &End,
    greeting: Greeting,
) -> Result<RunningService<RoleClient, Handler>, ClientInitializeError> {
    let watched = Watched::new(transport, end.clone());
    serve_client_with_lifecycle(handler, watched, greeting.mode()).await
}

fn config() -> StreamableHttpClientTransportConfig {
    // The address stays with our own client.
    let mut config = StreamableHttpClientTransportConfig::with_uri("");
    let mut rest = ExponentialBackoff::default();
    rest.max_times = Some(STREAM_TRIES);
    rest.max_delay = Some(STREAM_REST);
    config.retry_config = Arc::new(rest);
    config.max_sse_event_size = program::MESSAGE;
    config.max_json_response_size = program::MESSAGE;
    config
}

/// Why there is no connection, for people.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the protocol's library adds kinds of failure; each says what it is"
)]
async fn unopened(error: &ClientInitializeError, end: &End, program: Option<Running>) -> String {
    let plain = match error {
        ClientInitializeError::ConnectionClosed(_) => end
            .why()
            .unwrap_or_else(|| "it ended before it answered".to_owned()),
        ClientInitializeError::TransportError { error, .. } => innermost(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => match &**fallback {
            ClientInitializeError::TransportError { error, .. } => innermost(error),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    let plain = text::line(&plain, WORDS);
    let last_words = match program {
        Some(mut program) if end.is_over() => program.last_words().await,
        Some(_) | None => None,
    };
    match last_words {
        Some(last_words) => format!("{plain}; it said: {last_words}"),
        None => plain,
    }
}

/// The outer layers say "transport error"; the innermost says what happened.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut layer = error;
    while let Some(inner) = layer.source() {
        layer = inner;
    }
    layer.to_string()
}
