//! Files in and out. What people and agents made is handed out so that it can't run in our origin: only pictures, sound and
//! film, known by their bytes, are shown in place; all else is for saving, and every answer is sandboxed.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt as _, stream};
use sandbox::{ArtifactRef, Blob, BlobError, BlobReader, ContentHash, Taken, size_text};
use serde::Deserialize;
use serde_json::json;
use waybill::ProfileId;

use crate::asked::Asked;
use crate::conversations::find;
use crate::error::Refused;
use crate::kind;
use crate::router::Surface;
use crate::view::file_url;

/// Most files of one message.
pub(crate) const MOST: usize = 20;
/// Longest wait for the next piece of an upload.
const PIECE: Duration = Duration::from_secs(30);
/// Most bytes of a refused upload that are still read, so that its sender reads the refusal and not a broken connection.
const SURPLUS: u64 = 16 << 20;

/// For files: nothing in them may load or run, should a browser show one after all.
const FILE_POLICY: &str = "sandbox; default-src 'none'";

/// For files: browsers may keep them, and ask each time whether they may still show them. After a logout they may not.
const KEPT: &str = "private, no-cache";

fn refusal(error: BlobError) -> Refused {
    match error {
        BlobError::Missing => Refused::missing("file"),
        BlobError::Full(_) => Refused::no_room("the file was not stored: the disk is full"),
        BlobError::Io(source) => {
            tracing::warn!(error = %source, "the file store failed a request of the web chat");
            Refused::unavailable("the file store failed: see the gateway's log")
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Named {
    #[serde(default)]
    name: String,
}

/// `POST /api/conversations/ID/files?name=NAME`: the body is the file.
pub(crate) async fn upload(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
    Asked(Query(Named { name })): Asked<Query<Named>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let found = find(&surface, id).await?;
    let limit = surface.options.attachment_bytes;
    let name = kind::shown_name(&name);
    let too_large = || {
        Refused::too_large(format!(
            "{name} is larger than {}, the most that can be sent",
            size_text(limit)
        ))
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let mut pieces = body.into_data_stream();
    if let Some(why) = surface.options.status.no_files() {
        if !headers.contains_key(header::EXPECT) {
            read_off(&mut pieces).await;
        }
        return Err(Refused::no_room(why));
    }
    if announced.is_some_and(|size| size > limit) {
        // Who asks before sending ("Expect") must not be encouraged.
        if !headers.contains_key(header::EXPECT) {
            read_off(&mut pieces).await;
        }
        return Err(too_large());
    }
    let mut writer = surface
        .options
        .blobs
        .create(&found.profile)
        .await
        .map_err(refusal)?;
    let mut size = 0_u64;
    loop {
        let piece = tokio::time::timeout(PIECE, pieces.next())
            .await
            .map_err(|_late| Refused::malformed("the upload stopped half-way"))?;
        let Some(piece) = piece else { break };
        let piece =
            piece.map_err(|error| Refused::malformed(format!("the upload broke off: {error}")))?;
        size = size.saturating_add(piece.len() as u64);
        if size > limit {
            read_off(&mut pieces).await;
            return Err(too_large());
        }
        writer.write(&piece).await.map_err(refusal)?;
    }
    let blob = writer.finish(&name).await.map_err(refusal)?;
    let file = ArtifactRef {
        profile: found.profile,
        blob,
        name,
        taken: Taken::Received,
    };
    let answer = json!({
        "hash": file.blob.hash, "name": file.name, "size": file.blob.size, "mime": file.blob.mime, "url": file_url(&file),
    });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

async fn read_off(pieces: &mut (impl Stream<Item = Result<Bytes, axum::Error>> + Unpin)) {
    let mut surplus = 0_u64;
    let reading = async {
        while let Some(Ok(piece)) = pieces.next().await {
            surplus = surplus.saturating_add(piece.len() as u64);
            if surplus > SURPLUS {
                break;
            }
        }
    };
    if tokio::time::timeout(PIECE, reading).await.is_err() {
        tracing::debug!("the sender of a refused upload did not finish");
    }
}

/// A file that was uploaded to this profile before, described by its bytes.
pub(crate) async fn uploaded(
    surface: &Surface,
    profile: &ProfileId,
    hash: ContentHash,
    name: &str,
) -> Result<ArtifactRef, Refused> {
    let (size, mut bytes) = surface
        .options
        .blobs
        .open(profile, &hash)
        .await
        .map_err(refusal)?;
    let head = bytes.next().await.map_err(refusal)?.unwrap_or_default();
    let name = kind::shown_name(name);
    let blob = Blob {
        hash,
        size,
        mime: kind::describe(&head, &name),
    };
    Ok(ArtifactRef {
        profile: profile.clone(),
        blob,
        name,
        taken: Taken::Received,
    })
}

/// `GET /files/PROFILE/HASH/NAME`.
pub(crate) async fn download(
    State(surface): State<Arc<Surface>>,
    Asked(Path((profile, hash, name))): Asked<Path<(String, String, String)>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let profile: ProfileId = profile
        .parse()
        .map_err(|_malformed| Refused::missing("file"))?;
    let hash: ContentHash = hash
        .parse()
        .map_err(|_malformed| Refused::missing("file"))?;
    serve(&surface, &profile, hash, &name, &headers).await
}

/// Hands a file out: whole, a part of it, or the word that the asker has it already.
pub(crate) async fn serve(
    surface: &Surface,
    profile: &ProfileId,
    hash: ContentHash,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Refused> {
    let (size, mut bytes) = surface
        .options
        .blobs
        .open(profile, &hash)
        .await
        .map_err(refusal)?;
    let tag = format!("\"{hash}\"");
    let value = |text: String| {
        HeaderValue::from_str(&text).map_err(|error| Refused::malformed(error.to_string()))
    };
    let kept = [
        (header::CACHE_CONTROL, HeaderValue::from_static(KEPT)),
        (header::ETAG, value(tag.clone())?),
    ];
    if has_already(headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    let head = bytes.next().await.map_err(refusal)?.unwrap_or_default();
    let in_place = kind::shown_in_place(&head);
    // A part of another file than the asker has the rest of is of no use.
    let of_this = headers
        .get(header::IF_RANGE)
        .is_none_or(|known| known.as_bytes() == tag.as_bytes());
    let range = headers
        .get(header::RANGE)
        .filter(|_| of_this)
        .and_then(|value| value.to_str().ok())
        .and_then(|range| span(range, size));
    let (first, last) = range.unwrap_or((0, size.saturating_sub(1)));
    let length = if size == 0 { 0 } else { last - first + 1 };
    let mut response = Response::new(Body::from_stream(cut(head, bytes, first, length)));
    let disposition = kind::disposition(in_place.is_some(), name);
    let headers = response.headers_mut();
    let fixed = [
        (
            header::CONTENT_TYPE,
            in_place.unwrap_or("application/octet-stream"),
        ),
        (header::CONTENT_SECURITY_POLICY, FILE_POLICY),
        (header::ACCEPT_RANGES, "bytes"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.extend(kept);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::CONTENT_DISPOSITION, value(disposition)?);
    if range.is_some() {
        headers.insert(
            header::CONTENT_RANGE,
            value(format!("bytes {first}-{last}/{size}"))?,
        );
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Whether the asker has a file with this tag (RFC 9110, `If-None-Match`: weak comparison).
fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// The first and the last byte of a single range that can be served; players ask for these to jump. Anything else is
/// answered with the whole file, which RFC 9110 allows.
fn span(range: &str, size: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let end = size.checked_sub(1)?;
    let (first, last) = match (first, last) {
        ("", tail) => (size.saturating_sub(tail.parse().ok()?), end),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, last.parse::<u64>().ok()?.min(end)),
    };
    (first <= last && first < size).then_some((first, last))
}

/// `length` bytes from `skip` on.
fn cut(
    head: Bytes,
    rest: Box<dyn BlobReader>,
    skip: u64,
    length: u64,
) -> impl Stream<Item = Result<Bytes, BlobError>> + Send {
    stream::try_unfold(
        (Some(head), rest, skip, length),
        |(mut head, mut rest, mut skip, mut left)| async move {
            loop {
                let piece = match head.take() {
                    Some(head) => Some(head),
                    None if left > 0 => rest.next().await?,
                    None => None,
                };
                let Some(mut piece) = piece else {
                    return Ok(None);
                };
                let passed = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
                skip -= passed as u64;
                let mut piece = piece.split_off(passed);
                piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                left -= piece.len() as u64;
                if !piece.is_empty() {
                    return Ok(Some((piece, (None, rest, skip, left))));
                }
                if left == 0 {
                    return Ok(None);
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_served_when_it_lies_in_the_file() {
        for (range, size, expected) in [
            ("bytes=0-", 10, Some((0, 9))),
            ("bytes=3-5", 10, Some((3, 5))),
            ("bytes=3-500", 10, Some((3, 9))),
            ("bytes=-4", 10, Some((6, 9))),
            ("bytes=-40", 10, Some((0, 9))),
            ("bytes=10-", 10, None),
            ("bytes=5-3", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-0", 0, None),
            ("bytes=0-1,3-4", 10, None),
            ("lines=1-2", 10, None),
            ("bytes=a-b", 10, None),
            ("bytes=0-18446744073709551615", 10, Some((0, 9))),
        ] {
            assert_eq!(span(range, size), expected, "{range} of {size}");
        }
    }
}
