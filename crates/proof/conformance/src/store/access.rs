//! Login links work once and not for ever.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use policy::{AccessStore as _, TokenHash};

use super::World;
use super::make::at;

pub async fn a_login_link_opens_one_session(world: impl World) {
    let store = world.open().await;
    let (link, mine, theirs) = (
        TokenHash::of("link"),
        TokenHash::of("mine"),
        TokenHash::of("theirs"),
    );
    store.add_login(link, at(100)).await.expect("add");
    assert!(
        !store
            .log_in(TokenHash::of("guess"), theirs, at(900), at(1))
            .await
            .expect("log in")
    );
    assert!(!store.is_open(theirs, at(1)).await.expect("open"));
    let (first, second) = tokio::join!(
        store.log_in(link, mine, at(900), at(1)),
        store.log_in(link, theirs, at(900), at(1))
    );
    let (first, second) = (first.expect("log in"), second.expect("log in"));
    assert!(first != second, "exactly one of two at once");
    assert_eq!(store.is_open(mine, at(2)).await.expect("open"), first);
    assert_eq!(store.is_open(theirs, at(2)).await.expect("open"), second);
    world.close(store).await;
    let store = world.open().await;
    assert!(
        !store
            .log_in(link, TokenHash::of("late"), at(900), at(3))
            .await
            .expect("log in")
    );
    assert_eq!(store.is_open(mine, at(3)).await.expect("open"), first);
    world.close(store).await;
}

pub async fn a_login_link_that_is_too_old_opens_nothing(world: impl World) {
    let store = world.open().await;
    store
        .add_login(TokenHash::of("link"), at(100))
        .await
        .expect("add");
    let session = TokenHash::of("mine");
    assert!(
        !store
            .log_in(TokenHash::of("link"), session, at(900), at(100))
            .await
            .expect("log in")
    );
    assert!(!store.is_open(session, at(101)).await.expect("open"));
    world.close(store).await;
}

pub async fn a_session_ends_by_time_or_by_hand(world: impl World) {
    let store = world.open().await;
    let (one, two) = (TokenHash::of("one"), TokenHash::of("two"));
    for (link, session) in [("a", one), ("b", two)] {
        store
            .add_login(TokenHash::of(link), at(100))
            .await
            .expect("add");
        assert!(
            store
                .log_in(TokenHash::of(link), session, at(500), at(1))
                .await
                .expect("log in")
        );
    }
    assert!(store.is_open(one, at(499)).await.expect("open"));
    assert!(!store.is_open(one, at(500)).await.expect("open"));
    store.log_out(two).await.expect("log out");
    assert!(!store.is_open(two, at(2)).await.expect("open"));
    assert!(
        store.is_open(one, at(2)).await.expect("open"),
        "the other one stays"
    );
    world.close(store).await;
}
