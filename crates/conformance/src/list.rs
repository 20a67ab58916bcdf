//! The list of all cases: families, and in each a line a case.

/// Calls `$then` with the list: families, in them `name [clauses] needs;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __cases {
    ($then:path, $($args:tt)*) => {
        $then! { ($($args)*)
            refuses {
                undeclared_features [GEN_9] LACKING;
            }
            meta {
                profile_matches [GEN_9, GEN_10, ENQ_8] META;
            }
            verbs {
                batches_answer_in_order [GEN_2] CORE;
                empty_batches_do_nothing [GEN_2] CORE;
                an_invalid_item_hurts_no_other [GEN_2, RENEW_5, COMMIT_3] CORE;
                one_task_twice_is_invalid [COMMIT_11] CORE;
                opaque_bytes [GEN_6] CORE;
                opaque_headers [GEN_6] CORE;
                opaque_notes_and_results [GEN_6, RENEW_9, COMMIT_2] CORE;
                queues_never_touch [GEN_7] CORE;
                ids_never_meet [GEN_7] CORE;
                a_name_in_two_queues_is_two_tasks [GEN_7] CORE;
                what_left_a_queue_left_no_other [GEN_7] CORE;
                verbs_can_be_repeated [GEN_4] CORE;
                a_lost_race_is_a_value [GEN_8] CORE;
                an_unknown_queue_is_empty [CLAIM_4, READ_3] CORE;
            }
            dropped {
                counts_as_a_lost_reply [GEN_5] CORE;
                an_enqueue_is_whole_or_not_at_all [ENQ_7] CORE;
                a_burial_is_one_step [DEAD_2, COMMIT_2] CORE;
            }
            time {
                only_the_stores_clock_counts [TIME_1, COMMIT_7, FENCE_3] CORE;
                due_is_exact [TIME_3, CLAIM_1] CORE;
                lapse_is_exact [TIME_3, LAPSE_1, RENEW_1, RENEW_2] CORE;
                ttl_left_is_told_and_never_shortened [TIME_5, RENEW_1] CORE;
                ttl_has_bounds [TIME_5] CORE;
                far_times_are_kept_or_refused [TIME_6, CLAIM_1] CORE;
                a_far_snooze_is_cut_and_noted [TIME_6] CORE;
                a_clock_set_back_keeps_the_claim [TIME_4, CLAIM_2, LAPSE_1] CORE;
                a_jumping_clock_keeps_every_fence [TIME_4, CLAIM_2] CORE;
                a_real_lease_lapses [TIME_1] REAL_CLOCK;
                a_real_delay_passes [TIME_1, TIME_3, TIME_5] REAL_CLOCK;
                a_real_renew_keeps_the_lease [RENEW_1, TIME_1, COMMIT_7] REAL_CLOCK;
                real_instants_are_plausible [TIME_1, TIME_5] REAL_CLOCK;
            }
            fence {
                strictly_grows [FENCE_1, FENCE_3] CORE;
                never_reused_under_one_id [FENCE_1, FENCE_2, COMMIT_8, RENEW_2] CORE;
                high_fences_are_exact [FENCE_5] FAULTS;
                holder_and_state_are_no_fence [FENCE_4, COMMIT_1] CORE;
                attempt_is_no_fence [FENCE_4] CORE;
                one_instant_has_many_fences [FENCE_4, TIME_4] CORE;
                each_rescue_has_its_own [FENCE_3, LAPSE_3] CORE;
                nobody_has_no_fence [COMMIT_1, FENCE_2] CORE;
                a_foreign_fence_changes_nothing [FENCE_2, COMMIT_1, COMMIT_9] CORE;
            }
            enq {
                a_new_task_has_every_field [ENQ_1] CORE;
                a_new_task_has_its_keys [ENQ_1] UNIQUE LIMITS;
                repeat_is_duplicate_in_every_state [ENQ_2] CORE;
                like_tasks_stay_apart [ENQ_1, CLAIM_3] CORE;
                repeat_within_one_batch [ENQ_2, GEN_2] CORE;
                id_is_looked_at_before_the_key [ENQ_2, UNIQ_2] UNIQUE;
                past_due_overtakes_nobody [ENQ_3] CORE;
                far_due_never_expires [ENQ_3] CORE;
                every_handle_can_claim [ENQ_4] CORE;
                invalid_is_refused [ENQ_5] CORE;
                invalid_keys_are_refused [ENQ_5] UNIQUE LIMITS;
                all_or_nothing [ENQ_7] CORE;
                a_limit_group_must_be_set [ENQ_7, ENQ_4] LIMITS;
                the_largest_batch [ENQ_10, ENQ_7, GEN_2] CORE;
                an_id_is_remembered_and_then_free [ENQ_9] CORE;
                a_remembered_commit_is_replayed [ENQ_9, COMMIT_8] CORE;
                an_id_memory_of_nothing [ENQ_9, COMMIT_8] CORE;
                an_id_that_left_twice_is_remembered [ENQ_9] CORE;
                an_ended_memory_hides_no_key [ENQ_9] UNIQUE;
            }
            read {
                get_sees_every_write [READ_1] CORE;
                counts_go_by_status [READ_2] CORE;
                reading_changes_nothing [READ_3] CORE;
                pages_tell_each_task_once [READ_4] CORE;
                pages_hold_while_tasks_move [READ_4] CORE;
                filters_find_what_they_say [DEAD_4] CORE;
                queues_are_listed_in_pages [READ_4] CORE;
            }
            ctl {
                a_pause_stops_every_run [CLAIM_7, CLAIM_3] CORE;
                a_pause_holds_a_freed_slot [CLAIM_7] LIMITS;
                a_pause_stops_nothing_else [CLAIM_7] CORE;
                a_pause_is_of_one_queue [GEN_7] CORE;
                settings_are_told_whole [CTL_1] CORE;
                limits_are_told_whole [CTL_1] LIMITS;
                a_retention_holds_for_everyone [CTL_1] CORE;
                invalid_settings_change_nothing [CTL_1, TIME_6] CORE;
            }
            claim {
                order_of_service [CLAIM_3] CORE;
                who_comes_back_takes_its_place [CLAIM_3] CORE;
                at_most_as_many_as_asked [CLAIM_4] CORE;
                no_false_empty [CLAIM_4, CLAIM_2] CORE;
                a_grant_is_one_step [CLAIM_5, LAPSE_2] CORE;
                purposes_do_not_mix [CLAIM_6, CLAIM_1, LAPSE_1] CORE;
                a_lost_reply_is_recovered [CLAIM_8] CORE;
                a_herd_shares_nothing [CLAIM_2] CORE;
                what_cannot_start_hides_nothing [CLAIM_12, LIMIT_2] LIMITS;
                kinds_are_all_that_is_granted [CLAIM_10] KINDS;
                kinds_change_no_other_rule [CLAIM_1, CLAIM_3, GEN_7] KINDS;
                kinds_pass_over_newer [CLAIM_11] KINDS FAULTS;
                corrupt_is_granted_raw [CLAIM_11] FAULTS;
                newer_terms_are_not_rewritten [CLAIM_11] FAULTS;
                newer_is_left_and_blocks_nothing [CLAIM_11, CLAIM_4, OBS_1] FAULTS;
            }
            obs {
                a_smooth_day_counts_nothing [OBS_1] CORE;
                stale_commits [OBS_1] CORE;
                lost_renews [OBS_1] CORE;
                overdue [OBS_1] CORE;
                late_and_replayed [OBS_1] CORE;
                lapses_takeovers_and_rescues [OBS_1] CORE;
                burials [OBS_1] CORE;
                blocked_by_limit [OBS_1] LIMITS;
                skipped_newer [OBS_1] FAULTS;
            }
            race {
                worker_success_vs_rescue_requeue [LATE_1, LATE_3, LAPSE_2, FENCE_2] CORE;
                worker_success_vs_rescue_bury [LATE_1, LATE_3, LAPSE_2, FENCE_2] CORE;
                worker_fail_vs_rescue [LATE_2, BUDGET_1, FENCE_2] CORE;
                late_changes_but_success_are_stale [LATE_1, LATE_2, FENCE_2] CORE;
                rescue_decides_after_late_changes [LATE_2, LAPSE_2, FENCE_2] CORE;
                takeover_after_rescue_lapse [LAPSE_3, FENCE_2] CORE;
                takeover_with_the_other_choice [LAPSE_3, FENCE_2] CORE;
                takeover_of_a_takeover [LAPSE_3, FENCE_2] CORE;
                two_rescuers [LAPSE_1, LAPSE_7, FENCE_4] CORE;
                operator_delete_between_claim_and_decision [OPER_2, OPER_11, FENCE_2] CORE;
                operator_requeue_between_claim_and_decision [OPER_2, OPER_11, FENCE_2] CORE;
                operator_cancel_between_claim_and_decision [OPER_2, OPER_11, FENCE_2] CORE;
                operator_bury_between_claim_and_decision [OPER_2, OPER_11, FENCE_2] CORE;
                operator_requeue_then_next_run [OPER_2, FENCE_2] CORE;
                operator_after_decision [OPER_1, FENCE_2] CORE;
                operator_vs_claim [OPER_1, FENCE_2] CORE;
                operator_between_rescue_claim_and_decision [OPER_2, OPER_8, FENCE_2] CORE;
                operator_after_rescue_decision [OPER_1, FENCE_2] CORE;
                operator_vs_operator [OPER_1, FENCE_2] CORE;
                same_state_new_claim [FENCE_4, LATE_1, FENCE_2] CORE;
                same_state_new_rescue [FENCE_4, LATE_1, FENCE_2] CORE;
                same_holder_reclaims [FENCE_4, FENCE_2] CORE;
                same_rescuer_takes_over [FENCE_4, FENCE_2] CORE;
                redrive_then_old_commit [OPER_2, FENCE_2] CORE;
                two_claims_same_instant [FENCE_1, LATE_4] CORE;
                matching_success [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_fail [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_snooze [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_release [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_cancel [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_bury [COMMIT_1, COMMIT_2, COMMIT_7] CORE;
                matching_rescue [COMMIT_2, LAPSE_3] CORE;
                matching_operator [OPER_1, COMMIT_2] CORE;
                matching_run_after_rescue [COMMIT_2] CORE;
            }
            late {
                counts_under_the_undecided_rescue [LATE_1, LATE_5, COMMIT_2] CORE;
                counts_in_waiting_after_rescue [LATE_1, LATE_5, COMMIT_2] CORE;
                counts_in_dead_lost [LATE_1, LATE_5, COMMIT_2] CORE;
                takes_the_dead_letter_off_the_list [LATE_3, LATE_4, READ_2] CORE;
                ends_at_next_run [LATE_1, FENCE_2] CORE;
                ends_at_an_operators_act [LATE_1, LATE_5, FENCE_2] CORE;
                outlives_pause_and_repair [LATE_1] CORE;
                outlives_a_limit [LATE_1] LIMITS;
                only_success [LATE_2, FENCE_2] CORE;
                only_success_beside_a_passed_on_key [LATE_2, LATE_3, UNIQ_3] UNIQUE;
                frees_its_own_key [LATE_3, UNIQ_3] UNIQUE;
                frees_no_slot_twice [LATE_3, LIMIT_3] LIMITS;
                a_committed_run_has_no_right [LATE_4, LATE_5] CORE;
                a_rescue_keeps_the_right [LATE_5, LAPSE_2] CORE;
                a_repeat_is_replayed [LATE_1] CORE;
            }
            commit {
                every_ending_applies_once [COMMIT_4, COMMIT_6] CORE;
                every_rescue_applies_once [COMMIT_4, COMMIT_6] CORE;
                every_act_applies_once [COMMIT_4, COMMIT_6] CORE;
                replay_lasts_through_later_claims [COMMIT_5, COMMIT_6] CORE;
                a_rescue_is_replayed_through_later_claims [COMMIT_5, COMMIT_6] CORE;
                replay_after_the_task_left [COMMIT_8] CORE;
                replay_compares_no_contents [COMMIT_4] CORE;
                replay_is_not_for_anybody [COMMIT_4, COMMIT_6] CORE;
                verdict_true [COMMIT_3, FENCE_2] CORE;
                foreign_fence [COMMIT_1, FENCE_2] CORE;
                gone_if_it_never_was [COMMIT_8] CORE;
                gone_below_born [COMMIT_8, FENCE_1] CORE;
                overdue_applies [COMMIT_7] CORE;
                finished_never_changes [COMMIT_10, COMMIT_3] CORE;
                wrong_state_is_invalid [COMMIT_3] CORE;
                ill_formed_is_invalid [COMMIT_3, TIME_6] CORE;
                result_is_kept [COMMIT_2] CORE;
                one_bad_item_does_not_hurt [GEN_2, COMMIT_3, COMMIT_9] CORE;
                twice_in_a_call_is_invalid [COMMIT_11] CORE;
            }
            renew {
                extends_a_live_lease [RENEW_1, RENEW_4] CORE;
                never_shortens [RENEW_1] CORE;
                lapsed_is_lost [RENEW_2, FENCE_2] CORE;
                lost_keeps_no_slot [RENEW_2, LIMIT_4] LIMITS;
                foreign_is_lost [RENEW_2, FENCE_2] CORE;
                taken_over_rescuer_is_told [RENEW_2] CORE;
                cancelled_is_told [RENEW_6] CORE;
                revoked_is_told [RENEW_2] CORE;
                decided_is_told [RENEW_2] CORE;
                gone_is_told [RENEW_2] CORE;
                one_lost_item_does_not_hurt [RENEW_5] CORE;
                changes_no_counter [RENEW_4] CORE;
                note_is_stored_if_held [RENEW_9] CORE;
                note_outlives_rescue_and_retry [RENEW_9] CORE;
                too_large_note_is_invalid [RENEW_9] CORE;
                goes_on_while_paused [RENEW_1] CORE;
            }
            lapse {
                live_is_safe [LAPSE_1] CORE;
                live_is_safe_under_sweep [LAPSE_1] CORE;
                own_is_safe [LAPSE_1] CORE;
                only_leases_are_rescued [CLAIM_6] CORE;
                rescue_has_a_lease [LAPSE_2] CORE;
                lapses_in_a_row [LAPSE_2] CORE;
                dropped_decision_costs_a_delay [LAPSE_3, LAPSE_4] CORE;
                any_holder_name [LAPSE_5] CORE;
                recovery_takes_bounded_calls [LAPSE_6, LAPSE_7] CORE;
                undecodable_does_not_block [LAPSE_6] CORE;
                poison_does_not_block [LAPSE_6, CLAIM_11] FAULTS;
                fifth_takeover_buries [LAPSE_9] CORE;
                fifth_takeover_buries_poison [LAPSE_9] FAULTS;
                one_lapse_one_decision [LAPSE_7] CORE;
                a_herd_shares_nothing [LAPSE_7, LAPSE_1] CORE;
                one_overtaken_hurts_no_other [LAPSE_7, GEN_2] CORE;
                decided_is_not_rescued [LAPSE_1] CORE;
                rescue_lease_has_its_own_length [LAPSE_2, LAPSE_3] CORE;
            }
            index {
                missing_lease_is_found [LAPSE_8] FAULTS;
                surplus_lease_is_dropped [LAPSE_8, CLAIM_6, LAPSE_1] FAULTS;
                missing_ready_is_found [LAPSE_8] FAULTS;
                surplus_ready_is_dropped [LAPSE_8, CLAIM_2] FAULTS;
                early_lease_is_rescued_in_time [LAPSE_8, LAPSE_1] FAULTS;
                entry_of_an_earlier_life_grants_nothing [LAPSE_8, CLAIM_2] FAULTS;
            }
            retry {
                delay_follows_the_policy [RETRY_1] CORE;
                delay_is_spread_by_the_seed [RETRY_1] CORE;
                retry_after_is_kept_to [RETRY_1, RETRY_2] CORE;
                exhausted_at_the_budget [RETRY_1, RETRY_2] CORE;
                default_is_finite [RETRY_2] CORE;
                fatal_leaves_the_budget [RETRY_3] CORE;
                keeps_what_the_task_is [RETRY_4] CORE;
                keeps_the_unique_key [UNIQ_5] UNIQUE;
                history_is_bounded [RETRY_5] CORE;
                long_message_is_cut [RETRY_5] CORE;
                delay_counts_from_the_commit [RETRY_1] CORE;
            }
            give {
                release_keeps_the_due_time [GIVE_1] CORE;
                snooze_waits_its_delay [GIVE_2] CORE;
                snooze_is_clamped [GIVE_2, TIME_6] CORE;
                unknown_kind_waits [GIVE_1] CORE;
                clears_the_lease [GIVE_3] CORE;
                frees_the_slot [GIVE_3, LIMIT_3] LIMITS;
                costs_nothing [GIVE_2] CORE;
            }
            budget {
                two_budgets_are_independent [BUDGET_1] CORE;
                rescues_end_at_their_limit [BUDGET_2] CORE;
                a_stale_read_spends_nothing [BUDGET_2, LAPSE_7] CORE;
                what_costs_nothing [BUDGET_3] CORE;
                redrive_resets_both [BUDGET_4] CORE;
            }
            mode {
                never_buries_what_was_lost [MODE_2] CORE;
                not_after_loss_still_retries [MODE_2] CORE;
                at_most_once_never_runs_twice [MODE_1] CORE;
                at_most_once_before_the_handler [MODE_1] CORE;
                at_least_once_says_how_often [MODE_1] CORE;
                starts_are_bounded [MODE_3, BUDGET_2] CORE;
                an_operator_may_run_it_again [MODE_2] CORE;
            }
            oper {
                stale_act_changes_nothing [OPER_1] CORE;
                claim_makes_acts_stale [OPER_1] CORE;
                act_ends_every_older_right [OPER_2] CORE;
                cancel_of_each_state [OPER_3, RENEW_6] CORE;
                bury_of_each_state [OPER_6, RENEW_6] CORE;
                requeue_of_each_state [OPER_4] CORE;
                requeue_without_revoke_spares_the_run [OPER_4] CORE;
                edit_of_each_part [OPER_5] CORE;
                edit_steers_the_next_claim [OPER_5] CORE;
                other_acts_are_invalid [OPER_3, OPER_4, OPER_5, OPER_6] CORE;
                delete_leaves_nothing [OPER_7] CORE;
                act_beats_an_undecided_rescue [OPER_8] CORE;
                act_after_a_decided_rescue [OPER_8] CORE;
                history_tells_who_and_why [OPER_10] CORE;
            }
            held {
                no_run_before_the_old_lease_ended [OPER_11] CORE;
                until_is_never_extended [OPER_11] CORE;
                deleted_run_leaves_at_its_lease_end [OPER_7, OPER_11] CORE;
                record_stays [OPER_11] CORE;
                nothing_by_a_lapsed_lease [OPER_11] CORE;
                slot_stays_taken [LIMIT_7, LIMIT_3] LIMITS;
            }
            dead {
                kept_whole [DEAD_1] CORE;
                lost_is_kept_whole [DEAD_1] CORE;
                dead_in_the_same_step [DEAD_2] CORE;
                one_entry_for_each_burial [DEAD_2] CORE;
                no_cap_evicts [DEAD_3] CORE;
                stays_for_ever_by_default [DEAD_3] CORE;
                retention_goes_by_age [DEAD_3] CORE;
                listed_by_kind_reason_and_time [DEAD_4] CORE;
                cursor_neither_skips_nor_repeats [DEAD_4] CORE;
                redrive_once [DEAD_5] CORE;
                redrive_of_each_finished_state [DEAD_5] CORE;
                redrive_keeps_its_keys [DEAD_5, DEAD_1] UNIQUE LIMITS;
                only_an_operator_discards [DEAD_6] CORE;
                lost_stays_a_day [DEAD_6] CORE;
                edited_stays_dead_and_listed [DEAD_4, DEAD_3] CORE;
            }
            purge {
                unfinished_never [PURGE_1] CORE;
                counted_and_bounded [PURGE_1] CORE;
                ends_where_all_stay [PURGE_1] CORE;
                leaves_the_remembered_id [PURGE_1, PURGE_2, ENQ_9] CORE;
                own_retention_goes_first [PURGE_1] CORE;
                each_ending_has_its_own [PURGE_1] CORE;
                forever_is_never_over [PURGE_1] CORE;
                zero_leaves_at_once [PURGE_1, ENQ_9] CORE;
                counted_from_the_finish [PURGE_1] CORE;
                an_edit_takes_nothing [PURGE_1] CORE;
                late_success_begins_anew [PURGE_1] CORE;
                one_queue_only [PURGE_1] CORE;
                next_task_owes_the_old_nothing [PURGE_2] CORE;
            }
            limit {
                never_above_the_number [LIMIT_1, LIMIT_2] LIMITS;
                blocked_waits_unspent [LIMIT_2] LIMITS;
                thousand_blocked_hide_nothing [CLAIM_12, LIMIT_2] LIMITS;
                stale_commit_keeps_slot [LIMIT_3] LIMITS;
                old_run_cannot_free_new_slot [LIMIT_4] LIMITS;
                late_success_frees_nothing_twice [LIMIT_1, LIMIT_3, LATE_3] LIMITS;
                late_success_after_rescue_frees_nothing [LATE_3] LIMITS;
                every_change_frees_its_own_slot [LIMIT_1, LIMIT_3] LIMITS;
                freed_by_nobody_else [LIMIT_3] LIMITS;
                overdue_commit_frees_only_its_own [LIMIT_3] LIMITS;
                renew_extends_slot [RENEW_3, LIMIT_1, LIMIT_6] LIMITS;
                dead_holder_frees_at_lease_end [LIMIT_6, LIMIT_1] LIMITS;
                lowering_revokes_nothing [LIMIT_5, LIMIT_1] LIMITS;
                zero_stops_the_group [LIMIT_1, LIMIT_2, LIMIT_5] LIMITS;
                swept_slot_is_never_given_back [RENEW_8, LIMIT_1, LIMIT_3] LIMITS;
                unset_group_is_invalid [ENQ_5] LIMITS;
                keys_and_groups_are_apart [LIMIT_1] LIMITS;
                surplus_slot_is_mended [LAPSE_8, LIMIT_3] LIMITS FAULTS;
                surplus_slot_beside_a_live_one_is_mended [LAPSE_8, LIMIT_3] LIMITS FAULTS;
                gone_heir_strands_nobody [LIMIT_6, LIMIT_2] LIMITS;
                kinds_never_starve_under_a_key [LIMIT_1, CLAIM_10] LIMITS KINDS;
                leases_of_one_call_have_a_slot_each [LIMIT_3, RENEW_3] LIMITS;
                a_purge_frees_no_slot [LIMIT_3, LIMIT_7] LIMITS;
                the_first_end_counts [LIMIT_6] LIMITS;
                newer_takes_no_place [CLAIM_11, LIMIT_6] LIMITS FAULTS;
                a_clock_set_back_hides_no_blocked_task [CLAIM_4, TIME_4] LIMITS;
                a_shorter_lease_is_waited_for [LIMIT_6] LIMITS;
                many_blocked_never_end_the_search [CLAIM_4, LIMIT_2] LIMITS;
            }
            uniq {
                second_is_duplicate [UNIQ_2, ENQ_2] UNIQUE;
                second_in_a_batch_is_duplicate [UNIQ_1, UNIQ_2] UNIQUE;
                kept_by_what_goes_on [UNIQ_5, UNIQ_3] UNIQUE;
                freed_by_each_outcome_that_finishes [UNIQ_3] UNIQUE;
                freed_by_acts_and_loss [UNIQ_3, UNIQ_5] UNIQUE;
                freed_by_a_late_success [UNIQ_3, UNIQ_5] UNIQUE;
                late_failure_frees_nothing [UNIQ_3, LATE_2] UNIQUE;
                old_holder_frees_nothing [UNIQ_3, LATE_3] UNIQUE;
                purge_frees_no_key_in_use [UNIQ_3] UNIQUE;
                acts_on_old_holder_free_nothing [UNIQ_3] UNIQUE;
                next_holder_inherits_held_until [UNIQ_3] UNIQUE;
                inherits_through_others [UNIQ_3, OPER_11] UNIQUE;
                redrive_conflicts_with_another [UNIQ_4] UNIQUE;
                one_conflict_hurts_no_other [UNIQ_4, GEN_2] UNIQUE;
                redrive_takes_the_key_again [UNIQ_4, UNIQ_3] UNIQUE;
                keys_belong_to_a_queue [UNIQ_1] UNIQUE;
                only_the_next_holder_inherits [UNIQ_3, GEN_7] UNIQUE;
                the_holder_is_of_this_queue [GEN_7] UNIQUE;
            }
            follow {
                every_change_brings_them [ENQ_8] FOLLOW_UPS;
                overdue_and_late_bring_them [ENQ_8] FOLLOW_UPS;
                replayed_makes_none [ENQ_8] FOLLOW_UPS;
                stale_and_gone_make_none [ENQ_8] FOLLOW_UPS;
                duplicate_does_not_undo [ENQ_8] FOLLOW_UPS;
                one_order_explains_a_call [ENQ_8] FOLLOW_UPS UNIQUE;
                own_id_is_invalid [ENQ_8] FOLLOW_UPS;
                takes_the_parents_key [ENQ_8] FOLLOW_UPS UNIQUE;
                slot_is_free_for_them [ENQ_8] FOLLOW_UPS LIMITS;
                as_many_as_may_be [ENQ_8, ENQ_10] FOLLOW_UPS;
                invalid_one_refuses_its_item_alone [ENQ_8, ENQ_10] FOLLOW_UPS;
                bounds_are_exact_for_follow_ups [ENQ_10] FOLLOW_UPS;
                bounds_are_exact_for_enqueue [ENQ_10] CORE;
                unset_group_refuses_the_item [ENQ_8] FOLLOW_UPS LIMITS;
                only_a_worker_brings_them [ENQ_8] FOLLOW_UPS;
                chain_neither_breaks_nor_forks [ENQ_8] FOLLOW_UPS;
            }
            replay {
                returns_what_it_holds [CLAIM_9] REPLAY;
                returns_only_the_rest [CLAIM_9] REPLAY;
                returns_nothing_lapsed [CLAIM_9] REPLAY;
                never_grants_anew [CLAIM_9] REPLAY;
                smaller_seq_is_superseded [CLAIM_9] REPLAY;
                repeats_in_a_paused_queue [CLAIM_9] REPLAY;
                rescue_claims_repeat [CLAIM_9] REPLAY;
                another_loop_has_its_own [CLAIM_9] REPLAY;
                kept_until_its_pairs_have_ended [CLAIM_9] REPLAY;
                kept_for_an_hour_at_least [CLAIM_9] REPLAY;
                empty_claim_may_grant_later [CLAIM_9] REPLAY;
                no_lease_without_its_slot [CLAIM_9] REPLAY LIMITS;
                repeat_takes_no_slot [CLAIM_9, LIMIT_1] REPLAY LIMITS;
            }
            faults {
                a_wait_for_a_lock_ends_with_a_new_reading [TIME_2, RENEW_2, COMMIT_7, TIME_5] FAULTS;
                a_step_that_fails_leaves_nothing [ENQ_7, COMMIT_2, FENCE_2, GEN_4] FAULTS;
            }
            link {
                an_enqueue_without_its_reply_counts_once [GEN_4, ENQ_2] CORE;
                a_claim_without_its_reply_lapses [GEN_4, CLAIM_8] CORE;
                a_named_claim_without_its_reply_is_repeated [GEN_4, CLAIM_9] REPLAY;
                a_renew_without_its_reply_counts_once [GEN_4] CORE;
                a_commit_without_its_reply_is_replayed [GEN_4, COMMIT_4] CORE;
                follow_ups_without_a_reply_are_made_once [GEN_4, COMMIT_4, ENQ_8] FOLLOW_UPS;
                settings_without_a_reply_stand [GEN_4] CORE;
                a_purge_without_its_reply_counts_once [GEN_4] CORE;
                a_lost_request_changes_nothing [GEN_4] CORE;
                a_batch_in_part_is_whole_or_nothing [GEN_4, ENQ_7, COMMIT_2] CORE;
                a_reply_in_part_is_no_reply [GEN_4, ENQ_7, COMMIT_2] CORE;
                each_caller_is_told_its_own [GEN_4, READ_1] CORE;
                a_dropped_calls_reply_is_nobody_elses [GEN_4, GEN_5, ENQ_2] CORE;
                a_silent_server_holds_nobody [GEN_4, ENQ_2] CORE;
            }
            orders {
                worker_rescuer_and_operator [COMMIT_1, COMMIT_4, COMMIT_7, FENCE_2, LATE_1, LATE_2, LAPSE_1, BUDGET_1, BUDGET_3, OPER_1, OPER_8] ORDERS;
                two_rescuers_and_a_worker [LAPSE_3, LATE_1, RENEW_2, FENCE_2, BUDGET_1] ORDERS;
                two_operators_and_a_rescuer [OPER_1, OPER_2, OPER_8, COMMIT_4] ORDERS;
                a_slot_between_two_tasks [LIMIT_3, LIMIT_4, LIMIT_7, RENEW_2] ORDERS LIMITS;
                a_unique_key_between_two_tasks [UNIQ_3, OPER_11, FENCE_2] ORDERS UNIQUE;
                redrive_and_late_success [LATE_1, DEAD_5, COMMIT_4] ORDERS UNIQUE;
                four_actors [LAPSE_3, LATE_1, OPER_2, COMMIT_7] ORDERS;
            }
            model {
                golden_vectors [GEN_1] MODEL;
                sequential_histories [GEN_1, READ_1, READ_4, CTL_1, BUDGET_2] MODEL;
            }
            lanes {
                histories_are_linearizable [GEN_1, CLAIM_2, CLAIM_4, FENCE_3, READ_1] MODEL;
            }
        }
    };
}
