//! What every store must keep: nothing acknowledged is lost, nothing is taken twice, order holds in each lane.
//!
//! A store's test binary implements [`World`] and calls [`store!`](crate::store!). Each case is a test of its own there.
//!
//! Start reading at [`World`]; the longest word on lanes is the property in `lanes`.

pub mod access;
pub mod acts;
pub mod doubts;
pub mod faults;
pub mod gates;
pub mod history;
pub mod inbox;
pub mod lanes;
pub mod ledger;
mod make;
pub mod notices;
pub mod outgoing;
mod reference;
pub mod retention;
pub mod turns;
pub mod waiting;
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
            a_summary_stands_for_what_was_said_before,
            a_transcript_keeps_its_order_over_a_restart,
        ]);
        $crate::store!(@cases $world, waiting: [
            an_event_is_handled_so_often_and_then_put_aside,
            what_was_handled_without_harm_is_not_counted,
            what_was_put_aside_is_told_once,
            an_edit_of_what_waits_takes_its_place,
            an_edit_that_changes_nothing_or_nothing_known_is_settled,
            an_edit_after_the_turn_began_is_news_once,
            a_message_joins_a_running_turn_with_its_words_or_not_at_all,
            a_conversation_follows_its_chat_to_a_new_id,
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
        $crate::store!(@cases $world, doubts: [
            what_a_crash_cut_off_waits_until_its_platform_must_be_done_with_it,
            a_part_that_is_held_lets_its_lane_go_on,
            a_step_is_durable_and_the_next_attempt_goes_on_from_it,
            the_plainer_form_takes_the_parts_place_under_another_key,
            crashes_are_counted_over_a_restart,
            of_messages_with_one_name_the_newest_wins,
        ]);
        $crate::store!(@cases $world, acts: [
            what_was_taken_back_is_never_sent,
            a_chat_that_was_told_to_wait_waits_though_its_part_is_taken_back_or_asked_for_again,
            what_is_sent_again_goes_to_the_end_and_is_as_young_as_a_new_one,
            what_is_sent_again_goes_to_where_the_chat_lives_now,
            what_may_have_arrived_stays_unknown_when_it_is_sent_again,
            what_was_seen_to_arrive_holds_its_lane_no_longer,
            what_was_done_about_a_death_is_written_down_until_it_dies_again,
            a_wish_that_can_not_be_done_changes_nothing,
        ]);
        $crate::store!(@cases $world, notices: [
            three_come_at_once_and_the_rest_as_one_after_five_minutes,
            a_notice_joins_one_that_was_not_sent_yet,
            two_profiles_notices_never_mix,
            a_clock_that_was_set_back_keeps_no_gathered_notice,
            what_would_lose_words_among_others_goes_alone,
            gathered_notices_outlive_a_restart,
        ]);
        $crate::store!(@cases $world, gates: [
            a_chat_whose_window_is_closed_waits_alone,
            what_waits_for_a_place_is_found_when_one_is_free,
            an_account_whose_window_is_closed_says_when_it_opens,
            a_place_is_given_back_if_the_claim_is_not_stored,
            after_a_rest_one_attempt_finds_out_for_all,
            a_probe_that_fails_lets_the_account_rest_on,
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
        $crate::store!(@cases $world, retention: [
            the_words_of_a_sent_part_go_and_its_receipt_stays,
            a_message_goes_whole_when_all_of_it_is_done,
            a_death_that_nobody_cared_for_stays_longer_and_one_that_was_mended_does_not,
            a_repeat_is_known_when_the_words_of_an_event_are_long_gone,
            a_conversation_goes_when_nothing_happened_in_it_for_long,
            an_idle_web_chat_goes_but_never_the_home_of_notices,
        ]);
        $crate::store!(@cases $world, ledger: [
            what_a_turn_spent_is_in_the_ledger_when_its_end_is_stored_and_not_before,
            a_profile_reads_its_own_spending_since_a_day,
            the_ledger_is_listed_by_day_profile_and_model,
            an_end_that_can_not_be_stored_costs_nothing,
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
