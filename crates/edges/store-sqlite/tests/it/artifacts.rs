//! Captured bytes on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use sandbox::{BlobError, BlobStore as _, ContentHash};
use tidings_store_sqlite::{DiskBlobs, Store};
use waybill::ProfileId;

use crate::place::Place;

fn profile(name: &str) -> ProfileId {
    ProfileId::parse(name).unwrap()
}

async fn store(blobs: &DiskBlobs, of: &str, name: &str, pieces: &[&[u8]]) -> sandbox::Blob {
    let mut writer = blobs.create(&profile(of)).await.unwrap();
    for piece in pieces {
        writer.write(piece).await.unwrap();
    }
    writer.finish(name).await.unwrap()
}

async fn load(blobs: &DiskBlobs, of: &str, hash: &ContentHash) -> Result<Vec<u8>, BlobError> {
    let (size, mut reader) = blobs.open(&profile(of), hash).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await? {
        assert!(piece.len() <= 64 << 10, "pieces are bounded");
        bytes.extend_from_slice(&piece);
    }
    assert_eq!(bytes.len() as u64, size);
    Ok(bytes)
}

#[tokio::test]
async fn bytes_come_back_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let large: Vec<u8> = (0..300_000_u32)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    for pieces in [
        vec![],
        vec![&b"hello "[..], b"world"],
        large.chunks(7_001).collect(),
    ] {
        let whole = pieces.concat();
        let blob = store(&blobs, "work", "data", &pieces).await;
        assert_eq!(blob.size, whole.len() as u64);
        assert_eq!(blob.hash.as_bytes(), blake3::hash(&whole).as_bytes());
        assert_eq!(load(&blobs, "work", &blob.hash).await.unwrap(), whole);
    }
}

#[tokio::test]
async fn bytes_of_every_length_come_back_however_they_were_cut() {
    const GATHERED: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let all: Vec<u8> = (0..5_u32 << 18).flat_map(u32::to_le_bytes).collect();
    for length in [
        GATHERED - 1,
        GATHERED,
        GATHERED + 1,
        2 * GATHERED,
        all.len() - 3,
    ] {
        let whole = all.get(..length).unwrap();
        for piece in [100_003, GATHERED - 1, GATHERED, GATHERED + 1, usize::MAX] {
            let pieces: Vec<&[u8]> = whole.chunks(piece).collect();
            let blob = store(&blobs, "work", "data", &pieces).await;
            assert_eq!(blob.size, length as u64);
            assert_eq!(blob.hash.as_bytes(), blake3::hash(whole).as_bytes());
            let back = load(&blobs, "work", &blob.hash).await.unwrap();
            assert!(back == whole, "{length} in pieces of {piece}");
        }
    }
}

#[tokio::test]
async fn a_profile_never_sees_another_profiles_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let blob = store(&blobs, "work", "a.txt", &[b"mine"]).await;
    let error = load(&blobs, "home", &blob.hash).await.unwrap_err();
    assert!(matches!(error, BlobError::Missing), "{error}");
    let unknown = ContentHash::new([7; 32]);
    assert!(matches!(
        load(&blobs, "work", &unknown).await,
        Err(BlobError::Missing)
    ));
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}

#[tokio::test]
async fn the_same_bytes_are_kept_once_also_when_two_write_them_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let (a, b) = tokio::join!(
        store(&blobs, "work", "a.txt", &[b"same"]),
        store(&blobs, "work", "b.txt", &[b"sa", b"me"])
    );
    assert_eq!(a.hash, b.hash);
    store(&blobs, "work", "c.txt", &[b"same"]).await;
    assert_eq!(files(folder.path()), [a.hash.to_string()]);
}

#[tokio::test]
async fn bytes_that_the_disk_cut_are_mended_by_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let blob = store(&blobs, "work", "a.txt", &[b"whole words"]).await;
    let name = blob.hash.to_string();
    let path = folder
        .path()
        .join("work")
        .join(name.get(..2).unwrap())
        .join(&name);
    fs::write(&path, b"whole").unwrap();
    store(&blobs, "work", "a.txt", &[b"whole words"]).await;
    assert_eq!(fs::read(&path).unwrap(), b"whole words");
}

#[tokio::test]
async fn a_writer_dropped_unfinished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let mut writer = blobs.create(&profile("work")).await.unwrap();
    writer.write(&vec![1; 3_000_000]).await.unwrap();
    assert_eq!(files(folder.path()).len(), 1);
    drop(writer);
    assert!(files(folder.path()).is_empty());
}

#[tokio::test]
async fn what_a_crash_left_unfinished_is_removed_when_the_owner_of_the_home_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let blob = store(&blobs, "work", "a.txt", &[b"kept"]).await;
    fs::write(folder.path().join("work").join(".tmp-1-0"), b"half").unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    blobs.sweep().unwrap();
    assert_eq!(files(folder.path()), [blob.hash.to_string()]);
    assert_eq!(load(&blobs, "work", &blob.hash).await.unwrap(), b"kept");
}

#[tokio::test]
async fn a_second_process_that_opens_the_store_lets_an_upload_in_flight_finish() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let blobs = store.blobs().unwrap();
    let mut writer = blobs.create(&profile("work")).await.unwrap();
    writer.write(b"first half, ").await.unwrap();
    // As `tidings login` does while the gateway runs.
    let other = Store::open(&place.options()).unwrap();
    other.close().await.unwrap();
    writer.write(b"second half").await.unwrap();
    let blob = writer.finish("a.txt").await.unwrap();
    assert_eq!(
        load(blobs, "work", &blob.hash).await.unwrap(),
        b"first half, second half"
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn nobody_else_may_read_artifacts() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(&folder.path().join("blobs")).unwrap();
    let blob = store(&blobs, "work", "a.txt", &[b"secret"]).await;
    let name = blob.hash.to_string();
    let shelf = folder.path().join("blobs").join("work");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&shelf), 0o700);
    assert_eq!(mode(&shelf.join(name.get(..2).unwrap())), 0o700);
    assert_eq!(mode(&shelf.join(name.get(..2).unwrap()).join(&name)), 0o600);
}

#[tokio::test]
async fn the_type_is_sniffed_while_writing_in_small_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = DiskBlobs::open(folder.path()).unwrap();
    let png = store(
        &blobs,
        "work",
        "chart.txt",
        &[b"\x89PN", b"G\r\n\x1a\n", b"\0\0\0\rIHDR"],
    )
    .await;
    assert_eq!(png.mime, "image/png");
    let page = store(
        &blobs,
        "work",
        "notes.txt",
        &[b"<!DOCTYPE html>", b"<script>"],
    )
    .await;
    assert_eq!(page.mime, "text/html");
}
