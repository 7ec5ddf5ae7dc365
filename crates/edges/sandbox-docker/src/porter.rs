//! Containers that serve the driver itself for a moment: no agent runs in them, and nobody sees them in a list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bollard::models::ContainerSummary;

use crate::driver::Inner;
use crate::lease;
use crate::recipe::{INSTALL, LEASE};

/// The label that says what such a container is for.
pub(crate) const HELPER: &str = "tidings.helper";

/// It is there to be asked whether it sees the home, and never runs.
pub(crate) const LOOK: &str = "look";

/// It brings attachments into a volume.
pub(crate) const BRING: &str = "bring";

/// So long it may stand before the reaper takes it: it was left behind by a gateway that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(900);

/// Removes a helper when it is dropped.
pub(crate) struct Lent {
    inner: Arc<Inner>,
    id: String,
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Without a runtime the gateway itself is ending, and the next one's reaper sees to it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (inner, id) = (Arc::clone(&self.inner), self.id.clone());
        let removing = async move {
            if let Err(error) = inner.discard(&id).await {
                tracing::warn!(container = id, "a helper could not be removed yet: {error}");
            }
        };
        self.inner.killers.spawn_on(removing, &runtime);
    }
}

/// Is it no sandbox but a helper?
pub(crate) fn is_helper(container: &ContainerSummary) -> bool {
    let labels = container.labels.as_ref();
    labels.is_some_and(|labels| labels.contains_key(HELPER))
}

impl Inner {
    /// Sees to a helper's end.
    pub(crate) fn lend(self: &Arc<Self>, id: &str) -> Lent {
        Lent {
            inner: Arc::clone(self),
            id: id.to_owned(),
        }
    }

    /// A name that no other has.
    pub(crate) fn helper_name(&self) -> String {
        format!("tidings-helper-{}", self.mark())
    }

    pub(crate) fn helper_labels(&self, purpose: &str) -> HashMap<String, String> {
        let until = lease::end(self.options.clock.now(), LEFT_BEHIND);
        HashMap::from([
            (INSTALL.to_owned(), self.options.install.clone()),
            (HELPER.to_owned(), purpose.to_owned()),
            (LEASE.to_owned(), lease::seconds(until).to_string()),
        ])
    }
}
