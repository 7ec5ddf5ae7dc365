//! Promises of `listen` and `fetch`.

use std::future::Future;

use bytes::Bytes;
use chat::{ChatAdapter, DownloadError, FaultKind};
use sandbox::BlobStore;
use testkit::blobs::MemoryBlobs;
use waybill::ProfileId;

use super::{Ability, ChatWorld, Sink, Trouble, eventually};

/// Lets an adapter listen while something else happens.
async fn while_listening<T>(
    adapter: &dyn ChatAdapter,
    sink: &Sink,
    scenario: impl Future<Output = T>,
) -> T {
    tokio::select! {
        result = scenario => result,
        ended = adapter.listen(sink) => panic!("listening ended: {ended:?}"),
    }
}

/// While the store still works, the platform must not have been told.
pub async fn events_come_in_order_and_are_acknowledged_when_they_are_stored(
    world: &impl ChatWorld,
) {
    let (adapter, sink) = (world.adapter(), Sink::held());
    let texts = ["one", "two", "three"];
    for text in texts {
        world.says(&world.chat(), text).await;
    }
    while_listening(adapter.as_ref(), &sink, async {
        eventually("events are handed over", || sink.asked() > 0).await;
        assert_eq!(
            world.unacknowledged(),
            3,
            "acknowledged before they were stored"
        );
        sink.release();
        eventually("events are acknowledged", || world.unacknowledged() == 0).await;
        assert_eq!(sink.texts(), texts);
        world.says(&world.chat(), "four").await;
        eventually("the next one comes", || sink.texts().len() == 4).await;
    })
    .await;
}

/// The disk was full for a moment.
pub async fn events_that_could_not_be_stored_come_again(world: &impl ChatWorld) {
    let (adapter, sink) = (world.adapter(), Sink::default());
    sink.refuse(2);
    world.says(&world.chat(), "one").await;
    world.says(&world.chat(), "two").await;
    while_listening(adapter.as_ref(), &sink, async {
        eventually("the first try fails", || sink.asked() > 0).await;
        eventually("both are stored", || sink.texts().len() == 2).await;
        assert!(sink.asked() >= 3);
        eventually("both are acknowledged", || world.unacknowledged() == 0).await;
    })
    .await;
    assert_eq!(sink.texts(), ["one", "two"]);
}

/// It is kept for the owner's eyes and stands in nobody's way.
pub async fn a_poisoned_event_passes_by(world: &impl ChatWorld) {
    let (adapter, sink) = (world.adapter(), Sink::default());
    world.says(&world.chat(), "before").await;
    if world.poison().await == Ability::No {
        return;
    }
    world.says(&world.chat(), "after").await;
    while_listening(adapter.as_ref(), &sink, async {
        eventually("the one after it comes", || sink.texts().len() == 2).await;
        eventually("all are acknowledged", || world.unacknowledged() == 0).await;
    })
    .await;
    assert_eq!(sink.texts(), ["before", "after"]);
    let poisoned: Vec<_> = sink
        .events()
        .into_iter()
        .filter(|event| event.parsed.is_err())
        .collect();
    assert_eq!(poisoned.len(), 1, "it is stored as poisoned");
    assert!(!poisoned[0].raw.is_empty() && !poisoned[0].key.is_empty());
}

/// What was handled is not handled again.
pub async fn a_restart_goes_on_where_it_stopped(world: &impl ChatWorld) {
    let sink = Sink::default();
    world.says(&world.chat(), "one").await;
    let first = world.adapter();
    while_listening(
        first.as_ref(),
        &sink,
        eventually("it is stored", || sink.texts().len() == 1),
    )
    .await;
    drop(first);
    world.says(&world.chat(), "two").await;
    let second = world.adapter();
    while_listening(
        second.as_ref(),
        &sink,
        eventually("the new one comes", || sink.texts().len() == 2),
    )
    .await;
    assert_eq!(sink.texts(), ["one", "two"]);
}

/// One alert, not one for each try; and listening goes on by itself.
pub async fn a_revoked_login_is_told_once_and_heals(world: &impl ChatWorld) {
    let (adapter, sink) = (world.adapter(), Sink::default());
    if world.trouble(Trouble::Revoked) == Ability::No {
        return;
    }
    while_listening(adapter.as_ref(), &sink, async {
        eventually("the owner is told", || !sink.health().is_empty()).await;
        world.says(&world.chat(), "are you there?").await;
        world.trouble(Trouble::Restored);
        eventually("it hears again", || sink.texts().len() == 1).await;
    })
    .await;
    let told: Vec<_> = sink
        .health()
        .into_iter()
        .map(|state| state.map_err(|fault| fault.kind))
        .collect();
    assert_eq!(told, [Err(FaultKind::PermAccount), Ok(())]);
}

async fn attachment(
    world: &impl ChatWorld,
    adapter: &dyn ChatAdapter,
    bytes: Bytes,
) -> chat::InboundFile {
    let sink = Sink::default();
    world.sends("report v2.pdf", bytes).await;
    while_listening(
        adapter,
        &sink,
        eventually("the file is told of", || sink.inbound().len() == 1),
    )
    .await;
    let inbound = sink.inbound().remove(0);
    assert_eq!(inbound.files.len(), 1);
    inbound.files.into_iter().next().unwrap()
}

/// With the name that its sender gave it.
pub async fn a_persons_file_is_fetched_byte_for_byte(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let bytes = Bytes::from_iter((0..250_000_u32).map(|at| (at % 251) as u8));
    let file = attachment(world, adapter.as_ref(), bytes.clone()).await;
    assert_eq!(file.name.as_deref(), Some("report v2.pdf"));
    let (blobs, profile) = (MemoryBlobs::default(), ProfileId::parse("work").unwrap());
    let mut writer = blobs.create(&profile).await.unwrap();
    adapter
        .fetch(&file.handle, 1 << 20, writer.as_mut())
        .await
        .unwrap();
    let blob = writer.finish("report v2.pdf").await.unwrap();
    assert!(
        blobs.get(&profile, &blob.hash).unwrap() == bytes,
        "the bytes differ"
    );
}

/// And the person can be told the limit.
pub async fn a_file_over_the_limit_is_not_fetched(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let file = attachment(world, adapter.as_ref(), Bytes::from(vec![7; 250_000])).await;
    let (blobs, profile) = (MemoryBlobs::default(), ProfileId::parse("work").unwrap());
    let mut writer = blobs.create(&profile).await.unwrap();
    let told = adapter
        .fetch(&file.handle, 100_000, writer.as_mut())
        .await
        .unwrap_err();
    assert!(
        matches!(told, DownloadError::TooLarge { limit: 100_000 }),
        "{told:?}"
    );
}
