//! What a server may ask of us: next to nothing.
//!
//! The gateway tells every server that it can neither answer questions to a person (elicitation) nor ask a model (sampling). A server
//! that asks all the same gets the protocol's own no: it would otherwise speak to people and models past every guard of this house.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Listens to one connection of a server.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    server: Arc<str>,
    /// When the server last said that a call gets on.
    progress: watch::Sender<Instant>,
    /// It says that its tools changed.
    changed: Arc<Notify>,
}

impl Handler {
    pub(crate) fn new(server: &str) -> Self {
        Self {
            server: server.into(),
            progress: watch::Sender::new(Instant::now()),
            changed: Arc::default(),
        }
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Instant> {
        self.progress.subscribe()
    }

    pub(crate) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let who = Implementation::new("tidings", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), who)
            // The newest that has a greeting: this one stands in it.
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        _asked: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tracing::info!(server = %self.server, "a server asked the person something; declined");
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_progress(
        &self,
        _told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.send_replace(Instant::now());
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
