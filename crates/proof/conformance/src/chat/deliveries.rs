//! Promises of `deliver`.

use std::time::Duration;

use chat::{
    Body, ChatAdapter, Delivery, Done, Fault, FaultKind, IdempotencyKey, Op, Receipt, Rendering,
    RichText, Shape, Way,
};
use sandbox::{ArtifactRef, Blob, ContentHash, Taken};
use testkit::blobs::MemoryBlobs;
use waybill::{Anchor, ChatKey, Limit, ProfileId};

use super::{Ability, ChatWorld, Trouble};

fn body(adapter: &dyn ChatAdapter, text: &str) -> Body {
    match adapter.descriptor().rendering {
        Rendering::Rich => Body::Rich(RichText::plain(text)),
        Rendering::Markdown => Body::Markdown(text.to_owned()),
    }
}

fn profile() -> ProfileId {
    ProfileId::parse("work").unwrap()
}

fn artifact(blob: Blob, name: &str) -> ArtifactRef {
    ArtifactRef {
        profile: profile(),
        blob,
        name: name.to_owned(),
        taken: Taken::Received,
    }
}

/// Bytes without a pattern, so that a swapped or lost piece shows.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

struct Sending<'a> {
    chat: &'a ChatKey,
    anchor: Option<&'a Anchor>,
    op: &'a Op,
    may_be_repeat: bool,
}

async fn send(
    adapter: &dyn ChatAdapter,
    sending: Sending<'_>,
    blobs: &MemoryBlobs,
) -> Result<Receipt, Fault> {
    let delivery = Delivery {
        chat: sending.chat,
        anchor: sending.anchor,
        op: sending.op,
        key: IdempotencyKey::new([7; 16]),
        may_be_repeat: sending.may_be_repeat,
        way: Way::Direct,
        step: None,
        silent: false,
    };
    match adapter.deliver(delivery, blobs).await? {
        Done::All(receipt) => Ok(receipt),
        Done::Step(step) => panic!("in one call there are no steps: {step:?}"),
    }
}

async fn send_text(world: &impl ChatWorld, text: &str) -> Result<Receipt, Fault> {
    let adapter = world.adapter();
    let op = Op::Text(body(adapter.as_ref(), text));
    let sending = Sending {
        chat: &world.chat(),
        anchor: None,
        op: &op,
        may_be_repeat: false,
    };
    send(adapter.as_ref(), sending, &MemoryBlobs::default()).await
}

async fn texts(world: &impl ChatWorld, chat: &ChatKey) -> Vec<String> {
    world
        .visible(chat)
        .await
        .into_iter()
        .map(|seen| seen.text)
        .collect()
}

/// Markdown's own characters, an emoji, lines: nothing is changed, nothing is split.
pub async fn text_arrives_as_it_was_written(world: &impl ChatWorld) {
    let text = "Hello 👋 _you_ *there* <b>1 & 2</b>\n[x](y) `z` \\ #!.-";
    let receipt = send_text(world, text).await.unwrap();
    assert_ne!(receipt.as_str(), "");
    assert_eq!(texts(world, &world.chat()).await, [text]);
}

/// What the descriptor allows, the platform takes.
pub async fn a_text_at_the_limit_fits_even_as_a_repeat(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let text = match adapter.descriptor().text {
        Limit::Utf16(most) => "👋".repeat(most / 2),
        Limit::Chars(most) => "👋".repeat(most),
        Limit::Bytes(most) => "x".repeat(most),
    };
    let op = Op::Text(body(adapter.as_ref(), &text));
    for may_be_repeat in [false, true] {
        let sending = Sending {
            chat: &world.chat(),
            anchor: None,
            op: &op,
            may_be_repeat,
        };
        send(adapter.as_ref(), sending, &MemoryBlobs::default())
            .await
            .unwrap();
    }
    let shown = texts(world, &world.chat()).await;
    assert_eq!(shown.len(), 2);
    assert_eq!(shown[0], text);
    assert!(shown[1].contains(&text));
}

/// A repeat says of itself that it may be one.
pub async fn a_repeat_is_marked(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let op = Op::Text(body(adapter.as_ref(), "the report is ready"));
    let sending = Sending {
        chat: &world.chat(),
        anchor: None,
        op: &op,
        may_be_repeat: true,
    };
    send(adapter.as_ref(), sending, &MemoryBlobs::default())
        .await
        .unwrap();
    let shown = texts(world, &world.chat()).await;
    assert_eq!(shown.len(), 1);
    assert!(
        shown[0].contains("the report is ready") && shown[0].contains("repeat"),
        "{shown:?}"
    );
}

/// Larger than any buffer on the way, with a name that is no ASCII.
pub async fn a_file_arrives_byte_for_byte_under_its_name(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let blobs = MemoryBlobs::default();
    let bytes = noise(300_001);
    let name = "Übersicht v2 (final).pdf";
    let op = Op::File {
        artifact: artifact(blobs.put(&profile(), name, bytes.clone()), name),
        shape: Shape::Document,
        caption: None,
    };
    let sending = Sending {
        chat: &world.chat(),
        anchor: None,
        op: &op,
        may_be_repeat: false,
    };
    send(adapter.as_ref(), sending, &blobs).await.unwrap();
    let shown = world.visible(&world.chat()).await;
    assert_eq!(shown.len(), 1);
    let (shown_name, shown_bytes) = shown[0].file.clone().unwrap();
    assert_eq!(shown_name, name);
    assert!(shown_bytes == bytes, "the bytes differ");
    assert_eq!(shown[0].text, "");
}

/// One message, not two.
pub async fn a_file_has_its_words_under_it(world: &impl ChatWorld) {
    let adapter = world.adapter();
    if adapter.descriptor().caption.is_none() {
        return;
    }
    let blobs = MemoryBlobs::default();
    let op = Op::File {
        artifact: artifact(blobs.put(&profile(), "a.txt", "hello"), "a.txt"),
        shape: Shape::Document,
        caption: Some(body(adapter.as_ref(), "as you asked")),
    };
    let sending = Sending {
        chat: &world.chat(),
        anchor: None,
        op: &op,
        may_be_repeat: false,
    };
    send(adapter.as_ref(), sending, &blobs).await.unwrap();
    let shown = world.visible(&world.chat()).await;
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].text, "as you asked");
    assert!(shown[0].file.is_some());
}

/// The thread is part of the address.
pub async fn a_message_stays_in_its_thread_and_answers_its_anchor(world: &impl ChatWorld) {
    let Some(thread) = world.thread() else { return };
    let adapter = world.adapter();
    let asked = world.says(&thread, "how is it going?").await;
    let op = Op::Text(body(adapter.as_ref(), "well"));
    let sending = Sending {
        chat: &thread,
        anchor: Some(&asked),
        op: &op,
        may_be_repeat: false,
    };
    send(adapter.as_ref(), sending, &MemoryBlobs::default())
        .await
        .unwrap();
    let shown = world.visible(&thread).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].answers, Some(asked));
    let main = ChatKey::new(thread.account.clone(), thread.conversation.clone());
    assert_eq!(world.visible(&main).await, [], "leaked into the main chat");
}

/// The question was deleted meanwhile; the answer is still wanted.
pub async fn an_answer_to_a_message_that_is_gone_is_shown_all_the_same(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let op = Op::Text(body(adapter.as_ref(), "here it is"));
    let gone = Anchor::new("987654");
    let sending = Sending {
        chat: &world.chat(),
        anchor: Some(&gone),
        op: &op,
        may_be_repeat: false,
    };
    send(adapter.as_ref(), sending, &MemoryBlobs::default())
        .await
        .unwrap();
    assert_eq!(texts(world, &world.chat()).await, ["here it is"]);
}

/// The platform's own time, to the second.
pub async fn a_flood_refusal_says_how_long(world: &impl ChatWorld) {
    let wait = Duration::from_secs(149);
    if world.trouble(Trouble::Flood(wait)) == Ability::No {
        return;
    }
    let fault = send_text(world, "one").await.unwrap_err();
    assert!(
        matches!(fault.kind, FaultKind::Throttled { after, .. } if after == wait),
        "{fault:?}"
    );
    send_text(world, "two").await.unwrap();
    assert_eq!(
        texts(world, &world.chat()).await,
        ["two"],
        "an adapter does not retry by itself"
    );
}

/// Nothing left, so nothing can be there twice.
pub async fn a_refused_connection_is_not_sent(world: &impl ChatWorld) {
    let adapter = world.adapter();
    if world.close().await == Ability::No {
        return;
    }
    let blobs = MemoryBlobs::default();
    let file = Op::File {
        artifact: artifact(blobs.put(&profile(), "a.txt", "hello"), "a.txt"),
        shape: Shape::Document,
        caption: None,
    };
    for op in [Op::Text(body(adapter.as_ref(), "hello")), file] {
        let sending = Sending {
            chat: &world.chat(),
            anchor: None,
            op: &op,
            may_be_repeat: false,
        };
        let fault = send(adapter.as_ref(), sending, &blobs).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::NotSent, "{fault:?}");
    }
}

/// It is there, and we can't know.
pub async fn an_accepted_send_whose_answer_is_lost_is_unknown(world: &impl ChatWorld) {
    if world.trouble(Trouble::LostAnswer) == Ability::No {
        return;
    }
    let fault = send_text(world, "was I heard?").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unknown, "{fault:?}");
    assert_eq!(
        texts(world, &world.chat()).await,
        ["was I heard?"],
        "an adapter does not retry by itself"
    );
}

/// Nothing is wrong with the message, so it waits.
pub async fn a_revoked_login_is_the_accounts_fault(world: &impl ChatWorld) {
    if world.trouble(Trouble::Revoked) == Ability::No {
        return;
    }
    let fault = send_text(world, "hello").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::PermAccount, "{fault:?}");
    world.trouble(Trouble::Restored);
    send_text(world, "hello again").await.unwrap();
}

/// Trying again would not bring it back.
pub async fn an_artifact_that_is_gone_is_the_parts_fault(world: &impl ChatWorld) {
    let adapter = world.adapter();
    let blob = Blob {
        hash: ContentHash::new([1; 32]),
        size: 5,
        mime: "text/plain".to_owned(),
    };
    let op = Op::File {
        artifact: artifact(blob, "gone.txt"),
        shape: Shape::Document,
        caption: None,
    };
    let sending = Sending {
        chat: &world.chat(),
        anchor: None,
        op: &op,
        may_be_repeat: false,
    };
    let fault = send(adapter.as_ref(), sending, &MemoryBlobs::default())
        .await
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::PermItem, "{fault:?}");
    assert_eq!(world.visible(&world.chat()).await, []);
}

/// `channels test` shows it.
pub async fn the_platform_says_who_we_are(world: &impl ChatWorld) {
    let identity = world.adapter().identify().await.unwrap();
    assert!(
        !identity.id.is_empty() && !identity.name.is_empty(),
        "{identity:?}"
    );
}
