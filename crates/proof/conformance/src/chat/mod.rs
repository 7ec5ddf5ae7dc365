//! What every chat adapter must do, whatever its platform is.
//!
//! An adapter's test binary implements [`ChatWorld`] over its fake platform and writes `conformance::chat!(ItsWorld);`. Each test
//! builds a world of its own, so tests may run side by side. A platform that has no threads, or can't have some trouble, says
//! so, and the test of it has nothing to judge.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a suite stops at the first thing that is not as it must be"
)]

pub mod deliveries;
pub mod events;
mod sink;
mod world;

pub use sink::Sink;
pub use world::{Ability, ChatWorld, Seen, Trouble, eventually};

/// Makes one `#[tokio::test]` for each promise of a chat adapter; takes the type that implements
/// [`ChatWorld`](crate::chat::ChatWorld).
#[macro_export]
macro_rules! chat {
    (@each $world:ty, $room:ident: $($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let world = <$world as $crate::chat::ChatWorld>::build().await;
                $crate::chat::$room::$name(&world).await;
                let violations = $crate::chat::ChatWorld::violations(&world);
                assert!(violations.is_empty(), "{violations:?}");
            }
        )*
    };
    ($world:ty) => {
        $crate::chat!(@each $world, deliveries:
            text_arrives_as_it_was_written
            a_text_at_the_limit_fits_even_as_a_repeat
            a_repeat_is_marked
            a_file_arrives_byte_for_byte_under_its_name
            a_file_has_its_words_under_it
            a_message_stays_in_its_thread_and_answers_its_anchor
            an_answer_to_a_message_that_is_gone_is_shown_all_the_same
            a_flood_refusal_says_how_long
            a_refused_connection_is_not_sent
            an_accepted_send_whose_answer_is_lost_is_unknown
            a_revoked_login_is_the_accounts_fault
            an_artifact_that_is_gone_is_the_parts_fault
            the_platform_says_who_we_are
        );
        $crate::chat!(@each $world, events:
            events_come_in_order_and_are_acknowledged_when_they_are_stored
            events_that_could_not_be_stored_come_again
            a_poisoned_event_passes_by
            a_restart_goes_on_where_it_stopped
            a_revoked_login_is_told_once_and_heals
            a_persons_file_is_fetched_byte_for_byte
            a_file_over_the_limit_is_not_fetched
        );
    };
}
