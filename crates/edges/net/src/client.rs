//! The client: made in one place, with every guard on.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Url};

use crate::guard::{Guard, Resolver};
use crate::{Names, NetError, Request, SystemNames, tls};

/// An idle connection that is older may have been closed by the other side, and a request on it would end as "perhaps".
const KEEP_IDLE: Duration = Duration::from_secs(20);

/// Whether redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// The redirect itself is the answer.
    None,
    /// At most so many.
    Follow(u8),
}

/// Where `http://` may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// To this machine.
    LoopbackOnly,
    /// Anywhere: the owner wrote the address.
    Anywhere,
}

/// What may be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Destinations {
    /// Anything: the owner wrote the address.
    #[default]
    Any,
    /// The public Internet alone, whatever a name says and wherever a redirect leads, and there only the ports of the web (80, 443,
    /// 8000, 8080, 8443, 8888). Names of private networks and addresses with a user or a password are refused. Needs a client without a
    /// proxy: behind one, nobody here would know where a name leads.
    Public {
        /// Reached all the same: a test's own servers. No setting leads here.
        except: Vec<SocketAddr>,
    },
}

/// How a client behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// For the name, the connection and TLS together.
    pub connect_timeout: Duration,
    /// For silence: while the answer is awaited, and between two pieces of it. An upload that moves is no silence.
    pub read_timeout: Duration,
    /// For the whole exchange, from sending to the last byte.
    pub total_timeout: Option<Duration>,
    /// `User-Agent`.
    pub user_agent: String,
    /// None by default.
    pub redirects: Redirects,
    /// Loopback only by default.
    pub plain_http: PlainHttp,
    /// Anything by default.
    pub destinations: Destinations,
    /// Who knows where names lead, for [`Destinations::Public`]; the system by default.
    pub names: Arc<dyn Names>,
    /// A proxy for everything. The environment is never asked.
    pub proxy: Option<String>,
    /// Further trusted roots: PEM, any number. Empty by default.
    pub extra_roots_pem: Vec<u8>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
            total_timeout: None,
            user_agent: concat!("tidings/", env!("CARGO_PKG_VERSION")).to_owned(),
            redirects: Redirects::None,
            plain_http: PlainHttp::LoopbackOnly,
            destinations: Destinations::Any,
            names: Arc::new(SystemNames),
            proxy: None,
            extra_roots_pem: Vec::new(),
        }
    }
}

/// Sends requests. A clone is cheap and shares the connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    options: Arc<Options>,
    door: Door,
}

impl Client {
    /// Makes a client. Reads no file and no environment.
    ///
    /// # Errors
    /// [`NetError::Build`] if the proxy or a certificate can't be used, or if a proxy would stand before the guard of
    /// [`Destinations::Public`].
    pub fn new(options: Options) -> Result<Self, NetError> {
        let door = Door::of(&options)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place where a client is made"
        )]
        let builder = reqwest::Client::builder();
        let mut builder = builder
            .tls_backend_preconfigured(tls::config(&options.extra_roots_pem)?)
            .no_proxy()
            .redirect(redirects(options.redirects, door.clone()))
            .referer(false)
            .retry(reqwest::retry::never())
            .http1_only()
            .pool_idle_timeout(KEEP_IDLE)
            .connect_timeout(options.connect_timeout)
            .user_agent(options.user_agent.as_str());
        if let Some(guard) = &door.guard {
            builder = builder.dns_resolver(Resolver(Arc::clone(guard)));
        }
        if let Some(proxy) = &options.proxy {
            builder =
                builder.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(NetError::of_building)?);
        }
        Ok(Self {
            http: builder.build().map_err(NetError::of_building)?,
            options: Arc::new(options),
            door,
        })
    }

    /// A GET.
    pub fn get(&self, url: &str) -> Request {
        self.request(Method::GET, url)
    }

    /// A POST.
    pub fn post(&self, url: &str) -> Request {
        self.request(Method::POST, url)
    }

    /// A PUT.
    pub fn put(&self, url: &str) -> Request {
        self.request(Method::PUT, url)
    }

    /// A DELETE.
    pub fn delete(&self, url: &str) -> Request {
        self.request(Method::DELETE, url)
    }

    fn request(&self, method: Method, url: &str) -> Request {
        let url = address(url, self.options.plain_http).and_then(|url| {
            self.door.admit(&url)?;
            Ok(url)
        });
        Request::new(self.http.clone(), Arc::clone(&self.options), method, url)
    }
}

/// What every address has to pass: the first one, and each that a redirect names.
#[derive(Debug, Clone)]
struct Door {
    plain: PlainHttp,
    guard: Option<Arc<Guard>>,
}

impl Door {
    fn of(options: &Options) -> Result<Self, NetError> {
        let guard = match &options.destinations {
            Destinations::Any => None,
            Destinations::Public { .. } if options.proxy.is_some() => {
                return Err(NetError::Build {
                    cause: "a proxy would stand before the guard of public addresses".to_owned(),
                });
            }
            Destinations::Public { except } => Some(Arc::new(Guard {
                names: Arc::clone(&options.names),
                except: except.clone(),
            })),
        };
        Ok(Self {
            plain: options.plain_http,
            guard,
        })
    }

    fn admit(&self, url: &Url) -> Result<(), NetError> {
        allowed(url, self.plain)?;
        self.guard.as_ref().map_or(Ok(()), |guard| guard.admit(url))
    }
}

fn redirects(wanted: Redirects, door: Door) -> reqwest::redirect::Policy {
    let Redirects::Follow(most) = wanted else {
        return reqwest::redirect::Policy::none();
    };
    reqwest::redirect::Policy::custom(move |attempt| {
        if attempt.previous().len() > usize::from(most) {
            let cause = format!("it led on more than {most} times");
            return attempt.error(NetError::Forbidden { cause });
        }
        match door.admit(attempt.url()) {
            Ok(()) => attempt.follow(),
            Err(refused) => attempt.error(refused),
        }
    })
}

/// The text of a refused address is never repeated: it may hold a secret.
fn address(text: &str, plain: PlainHttp) -> Result<Url, NetError> {
    let url = Url::parse(text).map_err(|error| NetError::BadUrl {
        cause: error.to_string(),
    })?;
    allowed(&url, plain)?;
    Ok(url)
}

fn allowed(url: &Url, plain: PlainHttp) -> Result<(), NetError> {
    let refused = |cause: &str| {
        Err(NetError::BadUrl {
            cause: cause.to_owned(),
        })
    };
    let Some(host) = url.host_str() else {
        return refused("it names no host");
    };
    match (url.scheme(), plain) {
        ("https", _) | ("http", PlainHttp::Anywhere) => Ok(()),
        ("http", PlainHttp::LoopbackOnly) if is_loopback(host) => Ok(()),
        ("http", PlainHttp::LoopbackOnly) => {
            refused("http:// is for this machine only; use https://")
        }
        _ => refused("it must begin with https://"),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let open = |text| address(text, PlainHttp::LoopbackOnly).is_ok();
        for fine in [
            "https://api.example.org/x",
            "http://127.0.0.1:11434/v1",
            "http://localhost/",
            "http://[::1]:80/",
        ] {
            assert!(open(fine), "{fine}");
        }
        for bad in [
            "http://example.org/",
            "http://10.0.0.1/",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "",
            "no address",
            "http://localhost.example.org/",
        ] {
            assert!(!open(bad), "{bad}");
        }
        assert!(address("http://10.0.0.1/", PlainHttp::Anywhere).is_ok());
    }

    #[test]
    fn a_refused_address_is_not_repeated() {
        for bad in [
            "http://example.org/bot1:SECRET/x",
            "https://exa mple/SECRET",
            "SECRET",
        ] {
            let told = address(bad, PlainHttp::LoopbackOnly).unwrap_err();
            assert!(!format!("{told} {told:?}").contains("SECRET"), "{told}");
        }
    }
}
