//! The listener's life: bounded connections, bounded waits, and an orderly end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Error;
use crate::assets;
use crate::metrics::Kept;
use crate::options::Options;
use crate::router::{Surface, router};
use crate::v1::Desk;

/// Most connections at once; more wait in the system's queue. A thousand programs may wait for their turns at the same time.
const CONNECTIONS: usize = 2_048;
/// Longest wait for a request's head, from a new or a kept connection.
const HEAD: Duration = Duration::from_secs(30);
/// Longest wait for requests in flight when we stop.
const DRAIN: Duration = Duration::from_secs(10);
/// Pause after the system refused a connection (most often: too many open files).
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until `stop` is done, then lets requests in flight end.
///
/// # Errors
/// The listener has no address.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(Error::Listen)?;
    let (stopping, stopped) = watch::channel(false);
    let surface = Surface {
        options,
        address,
        build: assets::build(),
        stopping: stopped.clone(),
        metrics: Kept::default(),
        v1: Desk::default(),
    };
    let app = router(Arc::new(surface));
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = connections.join_next(), if !connections.is_empty() => report(ended),
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => { connections.spawn(connection(stream, app.clone(), stopped.clone())); }
                Err(error) => {
                    tracing::warn!(%error, "a connection to the web chat was not accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let drained = tokio::time::timeout(DRAIN, async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    });
    if drained.await.is_err() {
        tracing::warn!(
            left = connections.len(),
            "connections of the web chat were cut off at the end"
        );
        connections.shutdown().await;
    }
    Ok(())
}

/// Done when we stop.
pub(crate) async fn told(stopping: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone: that is a stop as well.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection of the web chat failed");
    }
}

async fn connection(stream: TcpStream, app: Router, mut stopped: watch::Receiver<bool>) {
    // News are small and should not wait for more.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no delay could not be asked for");
    }
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = told(&mut stopped) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of the web chat ended early");
    }
}
