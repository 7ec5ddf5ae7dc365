//! The small proxy through which a sandbox without a network reaches what its owner allows.
//!
//! Use this room to give such a sandbox a listener of its own. It speaks HTTP: `CONNECT HOST:PORT` for everything with TLS, and
//! requests for `http://…` as they are. It refuses to look up a name that is not allowed, to follow a redirect (the program in
//! the sandbox follows it with a new request, which is checked like the first), and to look into a tunnel: who is allowed a host is
//! allowed whatever that host does for them, other names behind the same address included.
//!
//! Invariants:
//! * What is asked for is compared with the list as it was written, before any name is looked up.
//! * A name is looked up once, by the gateway; each address is judged, and the connection goes to a judged address: a second answer
//!   of the name server changes nothing.
//! * By a name, only the public Internet is reached. An address of a private network or of this machine is reached only if the
//!   owner wrote that very address. Link-local, multicast and metadata addresses are never reached, whoever wrote them.
//! * A message is read, judged and written anew: two readings of one message (two lengths, two hosts) can't pass.
//! * Everything is bounded: the head, the connections, each wait ([`Bounds`]).
//!
//! Start reading at [`Proxy::serve`], then `ask` (what is asked for) and `net::reach` (which addresses are open).

mod answer;
mod ask;
mod dial;
mod forward;
mod idle;
mod outside;
mod proxy;

pub use outside::{Outside, System};
pub use proxy::{Bounds, Guard, Proxy};
