//! Who may look: a one-time link opens a browser session, a cookie carries it, the store knows both by hash.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use policy::{AccessStore, TokenHash};
use serde::Deserialize;
use waybill::{Clock, Secret};

use crate::Error;
use crate::asked::Asked;
use crate::error::Refused;
use crate::page;
use crate::router::Surface;

/// How long a login link can be used.
pub const LINK_LIVES: Duration = Duration::from_secs(60 * 60);

/// How long a browser stays logged in.
const SESSION_LIVES: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

fn token() -> Result<Secret, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    let text = bytes
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a String cannot fail.
            write!(text, "{byte:02x}").unwrap_or_default();
            text
        });
    Ok(Secret::new(text))
}

/// Makes a login link's token, good for [`LINK_LIVES`] and for one use: the link is `/login?token=TOKEN`.
///
/// # Errors
/// The system has no random bytes, or the store failed.
pub async fn new_login(access: &dyn AccessStore, clock: &dyn Clock) -> Result<Secret, Error> {
    let token = token()?;
    let expires_at = clock.now() + LINK_LIVES;
    access
        .add_login(TokenHash::of(token.reveal()), expires_at)
        .await
        .map_err(Error::Store)?;
    Ok(token)
}

/// Cookies don't tell ports apart, so the name does: two gateways on one machine don't log each other out.
pub(crate) fn cookie_name(surface: &Surface) -> String {
    format!("tidings_{}", surface.address.port())
}

fn session_of(surface: &Surface, headers: &HeaderMap) -> Option<TokenHash> {
    let name = cookie_name(surface);
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| TokenHash::of(value))
}

/// Whether the request carries an open session.
pub(crate) async fn logged_in(surface: &Surface, headers: &HeaderMap) -> Result<bool, Refused> {
    match session_of(surface, headers) {
        Some(session) => Ok(surface
            .options
            .access
            .is_open(session, surface.options.clock.now())
            .await?),
        None => Ok(false),
    }
}

/// Lets only open sessions pass.
pub(crate) async fn require(
    State(surface): State<Arc<Surface>>,
    request: Request,
    next: Next,
) -> Response {
    match logged_in(&surface, request.headers()).await {
        Ok(true) => next.run(request).await,
        Ok(false) => Refused::logged_out().into_response(),
        Err(refused) => refused.into_response(),
    }
}

#[derive(Deserialize)]
pub(crate) struct Link {
    #[serde(default)]
    token: String,
}

fn set_cookie(response: &mut Response, cookie: &str) -> Result<(), Refused> {
    let value = HeaderValue::from_str(cookie).map_err(|error| {
        Refused::unavailable(format!("the session could not be handed over: {error}"))
    })?;
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}

fn go_home() -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response()
}

/// `GET /login?token=…`: uses the link up, and goes home with a cookie.
pub(crate) async fn enter(
    State(surface): State<Arc<Surface>>,
    method: Method,
    Asked(Query(link)): Asked<Query<Link>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    // Some mail and chat programs look at links with HEAD before their owner does.
    if method == Method::HEAD {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let session = token().map_err(|error| Refused::unavailable(error.to_string()))?;
    let now = surface.options.clock.now();
    let opened = surface
        .options
        .access
        .log_in(
            TokenHash::of(&link.token),
            TokenHash::of(session.reveal()),
            now + SESSION_LIVES,
            now,
        )
        .await?;
    if opened {
        let mut response = go_home();
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}",
            cookie_name(&surface),
            session.reveal(),
            SESSION_LIVES.as_secs()
        );
        set_cookie(&mut response, &cookie)?;
        return Ok(response);
    }
    // A link that is opened twice in the same browser is no reason to frown.
    if logged_in(&surface, &headers).await? {
        return Ok(go_home());
    }
    page::gate(&surface, page::Gate::StaleLink)
}

/// `POST /logout`: closes the session here and in the browser, and has the browser forget the files that it kept.
pub(crate) async fn leave(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    if let Some(session) = session_of(&surface, &headers) {
        surface.options.access.log_out(session).await?;
    }
    let forget = [(CLEAR_SITE_DATA, "\"cache\"")];
    let mut response = (StatusCode::NO_CONTENT, forget).into_response();
    set_cookie(
        &mut response,
        &format!(
            "{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
            cookie_name(&surface)
        ),
    )?;
    Ok(response)
}
