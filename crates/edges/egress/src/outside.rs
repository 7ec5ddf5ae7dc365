//! What lies beyond the proxy: names and connections.

use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use tokio::net::{TcpStream, lookup_host};

/// Names and connections of the world, or of a test.
#[async_trait]
pub trait Outside: Send + Sync {
    /// The addresses of a name, now.
    ///
    /// # Errors
    /// Whatever the resolver says; no address is an error or an empty list.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address that was judged.
    ///
    /// # Errors
    /// Whatever the network says.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The resolver and the network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

#[async_trait]
impl Outside for System {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(lookup_host((name, 0))
            .await?
            .map(|found| found.ip())
            .collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
