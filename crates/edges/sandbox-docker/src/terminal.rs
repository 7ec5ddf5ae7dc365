//! The streams of a process in a terminal, as they are.
//!
//! The library that speaks to the engine elsewhere looks for frames in every stream, and takes a program's first byte for
//! one if it is small. A terminal's stream has no frames.

use std::pin::pin;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use futures_util::StreamExt;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use sandbox::SandboxError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_util::io::ReaderStream;

use crate::engine::{ANSWER, Engine};
use crate::process::{Input, Pieces};
use crate::sentence::{Failure, broken, slow};

/// What comes and goes over the engine's socket.
pub(crate) trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

impl Engine {
    /// Starts a process that was made with a terminal.
    pub(crate) async fn start_in_terminal(
        &self,
        docker: &Docker,
        exec: &str,
    ) -> Result<(Pieces, Input), Failure> {
        let path = format!("/v{}/exec/{exec}/start", docker.client_version());
        let answer = timeout(ANSWER, self.upgrade(&path)).await;
        let (read, write) = tokio::io::split(answer.map_err(|_elapsed| slow(self.socket()))??);
        let pieces = ReaderStream::new(read).map(|piece| match piece {
            Ok(message) => Ok(LogOutput::Console { message }),
            Err(err) => Err(Error::IOError { err }),
        });
        Ok((Box::pin(pieces), Box::pin(write)))
    }

    async fn upgrade(
        &self,
        path: &str,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + use<>, Failure> {
        let away = |error: &(dyn std::error::Error + 'static)| {
            Failure::Other(broken(error, self.socket()))
        };
        let stream = self.dial().await.map_err(|error| away(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| away(&error))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, "docker")
            .header(CONTENT_TYPE, "application/json")
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "tcp")
            .body(r#"{"Detach":false,"Tty":true}"#.to_owned())
            .map_err(|error| away(&error))?;
        let asking = async {
            let answer = sender
                .send_request(request)
                .await
                .map_err(|error| away(&error))?;
            match answer.status() {
                StatusCode::SWITCHING_PROTOCOLS | StatusCode::OK => {
                    let upgraded = hyper::upgrade::on(answer).await;
                    upgraded.map_err(|error| away(&error))
                }
                StatusCode::NOT_FOUND | StatusCode::CONFLICT => Err(Failure::Gone),
                status => Err(Failure::Other(SandboxError::Failed(format!(
                    "the Docker engine refused to start a terminal ({status})"
                )))),
            }
        };
        let mut asking = pin!(asking);
        let mut connection = pin!(connection.with_upgrades());
        let mut connected = true;
        loop {
            tokio::select! {
                upgraded = &mut asking => return upgraded.map(TokioIo::new),
                // It ends by giving its stream away; whoever asked hears of a failure.
                _ended = &mut connection, if connected => connected = false,
            }
        }
    }

    pub(crate) async fn dial(&self) -> std::io::Result<Box<dyn Both>> {
        let socket = self.socket();
        let host = ["tcp://", "http://"]
            .iter()
            .find_map(|scheme| socket.strip_prefix(scheme));
        if let Some(host) = host {
            let stream = TcpStream::connect(host.trim_end_matches('/')).await?;
            return Ok(Box::new(stream));
        }
        let path = socket.strip_prefix("unix://").unwrap_or(socket);
        Ok(Box::new(UnixStream::connect(path).await?))
    }
}
