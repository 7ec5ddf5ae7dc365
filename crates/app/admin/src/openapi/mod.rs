//! `/api/openapi.json`: our HTTP surface in the words of OpenAPI 3.1.
//!
//! Each row of the router's table names its description, so that there is none without a route; verbs, paths, their
//! parameters and the need for a cookie are taken from the row and not told twice. Bodies and answers are told in
//! `operations` and `schemas`; the tests hold them against what the listener really answers.
//!
//! It is shown without a cookie: it is the same for every gateway but for the port, and tells nothing of what is in one.

mod document;
mod operations;
mod schemas;

pub(crate) use document::serve;
pub(crate) use operations::{
    Operation, accept_tools, act, create, describe, download, enter, events, health, leave, list,
    messages, metrics, parcel, parcels, progress, ready, sandboxes, say, status, stop_sandbox, tap,
    tool_servers, upload, usage,
};
