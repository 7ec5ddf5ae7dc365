//! What every store must keep: nothing acknowledged is lost, nothing is taken twice, order holds in each lane.
//!
//! A store's test binary implements [`World`] and calls [`store!`](crate::store!). Each case is a test of its own there.
//!
//! Start reading at [`World`]; the longest word on lanes is the property in `lanes`.

pub mod access;
pub mod faults;
pub mod history;
pub mod inbox;
pub mod lanes;
mod make;
pub mod outgoing;
mod reference;
pub mod turns;
pub mod web;
mod world;

pub use world::{AnyStore, World, run};

/// Makes the suite's tests for a [`World`].
#[macro_export]
macro_rules! store {
    ($world:ty) => {
        $crate::store!(@cases $world, inbox: [
            a_repeated_event_is_passed_over_also_after_a_restart,
            what_concerns_nobody_or_makes_no_sense_is_kept_with_its_key,
            the_cursor_moves_with_the_events,
            a_decision_is_made_once,
            the_gateways_own_answer_is_stored_with_its_decision,
        ]);
        $crate::store!(@cases $world, turns: [
            a_conversation_has_one_running_stretch_until_it_is_reset,
            a_profiles_conversation_is_not_another_profiles,
            an_answer_is_visible_when_its_turn_is_committed_and_not_before,
            a_turn_ends_once,
            a_cut_off_turn_is_found_with_what_it_answers,
            a_transcript_keeps_its_order_over_a_restart,
        ]);
        $crate::store!(@cases $world, outgoing: [
            the_first_part_of_an_idle_lane_is_claimed_at_birth,
            a_message_behind_another_waits_for_it,
            a_step_that_runs_twice_is_stored_once,
            the_next_part_is_claimed_with_the_receipt,
            a_waiting_store_is_told_of_what_comes,
            accounts_take_turns,
        ]);
        $crate::store!(@cases $world, faults: [
            a_retry_waits_for_its_time_also_after_a_restart,
            a_try_that_does_not_count_is_not_counted,
            an_account_that_must_wait_holds_its_own_lanes_alone,
            a_login_that_works_again_ends_its_rest_but_no_throttle,
            an_attempt_cut_off_by_a_crash_is_unknown_and_marked,
            a_dead_part_and_its_notice_are_written_together,
            a_dead_chat_takes_all_that_waits_there_with_it,
            a_late_end_is_kept_as_evidence_and_changes_nothing,
            a_chat_that_moved_takes_its_messages_along_in_order,
        ]);
        $crate::store!(@cases $world, history: [
            a_parcels_whole_history_can_be_read,
            a_list_is_filtered_and_the_newest_comes_first,
        ]);
        $crate::store!(@cases $world, lanes: [
            whatever_happens_each_lane_keeps_its_order_and_loses_nothing,
        ]);
        $crate::store!(@cases $world, web: [
            an_entry_with_a_known_key_shows_once,
            a_conversation_keeps_its_profile_and_takes_its_first_words_as_title,
            the_last_entries_come_oldest_first,
        ]);
        $crate::store!(@cases $world, access: [
            a_login_link_opens_one_session,
            a_login_link_that_is_too_old_opens_nothing,
            a_session_ends_by_time_or_by_hand,
        ]);
    };
    (@cases $world:ty, $room:ident: [$($case:ident,)*]) => {
        mod $room {
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::store::run($crate::store::$room::$case(<$world as $crate::store::World>::fresh()));
                }
            )*
        }
    };
}
