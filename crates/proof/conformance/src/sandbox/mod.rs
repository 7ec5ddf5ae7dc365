//! What every sandbox driver must do, whatever its walls are made of.
//!
//! A driver's test binary implements [`SandboxWorld`] and writes `conformance::sandbox!(ItsWorld);`. Each test builds a
//! world of its own, so tests may run side by side. Dropping a world must take away whatever it left on the machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a suite stops at the first thing that is not as it must be"
)]

pub mod bench;
pub mod captures;
pub mod commands;
pub mod files;
pub mod running;
pub mod walls;

pub use bench::{Bench, Promise, SandboxWorld};

/// Makes one `#[tokio::test]` for each promise of a sandbox driver; takes the type that implements
/// [`SandboxWorld`](crate::sandbox::SandboxWorld).
#[macro_export]
macro_rules! sandbox {
    (@each $world:ty, $room:ident: $($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::sandbox::$room::$name(<$crate::sandbox::Bench<$world>>::build().await).await;
            }
        )*
    };
    ($world:ty) => {
        $crate::sandbox!(@each $world, commands:
            a_command_says_what_it_says_on_both_streams
            a_failing_command_gives_its_exit_code
            a_command_reads_what_it_is_given
            a_command_that_ignores_its_input_still_ends
            a_command_starts_where_it_was_told_to
            bytes_that_are_no_text_come_out_as_they_went_in
            ten_megabytes_of_output_keep_head_and_tail
            the_environment_reaches_the_command_and_its_secrets_stay_out_of_sight
            a_command_that_never_ends_is_killed_with_all_it_started
            a_child_that_left_the_group_is_killed_too
            a_command_left_in_the_background_does_not_hold_the_answer
            dropping_the_future_kills_the_command
            two_commands_run_side_by_side
            what_a_command_left_is_there_for_the_next_and_after_a_restart
        );
        $crate::sandbox!(@each $world, running:
            what_a_command_says_is_heard_while_it_runs
            the_end_of_a_started_command_gives_its_exit_code
            a_started_command_reads_what_is_written_until_its_input_ends
            bytes_of_a_started_command_are_as_they_were
            ten_megabytes_are_heard_to_the_last_byte
            listening_that_was_dropped_loses_nothing
            killing_a_started_command_takes_all_it_started
            dropping_a_started_command_kills_it
            a_started_command_goes_on_beside_others
            a_child_left_behind_does_not_hold_the_end_of_a_started_command
            a_terminal_is_one_and_pipes_are_none
            a_program_in_a_terminal_is_typed_to
            a_terminal_has_the_size_it_was_told
            killing_in_a_terminal_takes_all_it_started
            the_environment_of_a_call_is_never_seen_by_another
            a_command_is_not_started_where_there_is_no_folder
            started_commands_of_two_sandboxes_do_not_meet
            twenty_killed_commands_leave_nothing_behind
        );
        $crate::sandbox!(@each $world, files:
            a_written_file_reads_back_under_any_name
            a_line_break_in_a_path_is_refused
            a_file_is_read_from_the_middle
            a_missing_file_is_named_in_the_error
            a_folder_and_a_fifo_are_not_read
            create_new_never_replaces
            a_write_into_a_dangling_link_makes_nothing_elsewhere
            a_folder_is_listed_folders_first_and_says_what_it_left_out
            an_attachment_lies_in_the_inbox_and_cannot_be_changed
            a_second_attachment_of_one_name_gets_a_number
            odd_names_of_attachments_become_safe_and_stay_readable
            an_attachment_lies_in_the_sandbox_of_its_own_conversation
        );
        $crate::sandbox!(@each $world, captures:
            a_file_of_the_workspace_is_captured_byte_for_byte
            five_megabytes_of_noise_keep_their_hash
            a_file_of_tmp_is_captured
            a_file_of_the_home_is_captured
            an_empty_file_is_captured
            a_file_at_the_limit_is_captured_and_one_byte_more_is_refused
            a_sparse_terabyte_is_refused_at_once
            a_growing_file_never_runs_over_the_limit
            a_missing_file_names_what_lies_beside_it
            a_folder_is_not_a_file
            a_fifo_is_refused_and_nobody_waits
            a_device_is_refused
            a_link_to_the_sandboxs_own_file_is_followed
            a_link_followed_by_dots_means_what_the_kernel_means
            system_places_are_refused_by_name_and_through_links
            credential_files_of_the_home_are_refused
            a_secret_mount_is_refused_by_name_and_through_links
            a_hard_link_is_refused
            a_file_without_read_permission_is_refused
            a_file_swapped_in_a_loop_never_yields_the_secret
        );
        $crate::sandbox!(@each $world, walls:
            two_profiles_same_path_sends_the_producers_bytes
            one_profile_never_sees_the_others_files
            two_sessions_of_a_profile_get_a_sandbox_each_when_asked
            there_is_no_network
            the_gateways_home_cannot_be_reached
            the_owners_folder_is_shown_as_he_said
            a_command_cannot_gain_privileges
            the_driver_describes_its_walls
        );
    };
}
