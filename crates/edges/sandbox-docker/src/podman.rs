//! What only Podman says, beside what it says in Docker's language.

use std::future::poll_fn;
use std::pin::{Pin, pin};

use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use sandbox::SandboxError;
use tokio::time::timeout;

use crate::engine::{ANSWER, Engine};
use crate::sentence::{broken, slow};

/// Bytes that are read of what it says of itself; usually three thousand.
const MOST: usize = 256 << 10;

/// A field of its own in the answer, which the library that speaks to engines elsewhere does not know.
const ROOTLESS: &[u8] = br#""Rootless":true"#;

impl Engine {
    /// Has this Podman no rights but those of an ordinary user?
    pub(crate) async fn is_rootless_podman(&self) -> Result<bool, SandboxError> {
        let said = timeout(ANSWER, self.ask_podman()).await;
        let said = said.map_err(|_elapsed| slow(self.socket()))??;
        Ok(said.windows(ROOTLESS.len()).any(|piece| piece == ROOTLESS))
    }

    async fn ask_podman(&self) -> Result<Vec<u8>, SandboxError> {
        let away = |error: &(dyn std::error::Error + 'static)| broken(error, self.socket());
        let stream = self.dial().await.map_err(|error| away(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| away(&error))?;
        let request = Request::builder()
            .method(Method::GET)
            .uri("/info")
            .header(HOST, "podman")
            .body(String::new())
            .map_err(|error| away(&error))?;
        let asking = async {
            let answer = sender.send_request(request).await;
            whole(answer.map_err(|error| away(&error))?.into_body())
                .await
                .map_err(|error| away(&error))
        };
        let (mut asking, mut connection) = (pin!(asking), pin!(connection));
        let mut connected = true;
        loop {
            tokio::select! {
                said = &mut asking => return said,
                // Whoever asked hears of a failure.
                _ended = &mut connection, if connected => connected = false,
            }
        }
    }
}

async fn whole(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(bytes) = frame?.into_data() {
            all.extend(bytes.iter().take(MOST.saturating_sub(all.len())));
        }
    }
    Ok(all)
}
