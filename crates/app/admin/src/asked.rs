//! What stands in a request's head, read so that a refusal has our form.

use std::fmt::Display;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::error::Refused;

/// What `E` reads. The framework's own refusals are bare text, and programs would have to know two forms.
pub(crate) struct Asked<E>(pub(crate) E);

impl<S, E> FromRequestParts<S> for Asked<E>
where
    S: Send + Sync,
    E: FromRequestParts<S>,
    E::Rejection: Display,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let read = E::from_request_parts(parts, state).await;
        read.map(Self)
            .map_err(|error| Refused::malformed(format!("the address can't be read: {error}")))
    }
}
