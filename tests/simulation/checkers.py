"""All invariants in one place: which functions check them in the simulation, and where else they are shown.

Those of a step look at what one write changed, those of the boundary at what each call asks for and is told, those of
the end at what is left. A checker has its own idea of what is right: it asks none of the code that it judges. A test
compares the tables of transitions with the code's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.simulation import (
    archived,
    audits,
    boundary,
    breakers,
    chains,
    chains_at_rest,
    destination,
    endings,
    flows,
    items,
    items_at_rest,
    leaving,
    money,
    operations,
    queues,
    quotas,
    restricted,
    retaining,
    streams,
    switched,
)
from tests.simulation.engine import Change
from tests.simulation.hub import Actor
from tests.simulation.seen import Seen

STEP: Final[tuple[Callable[[Seen, Actor | None, Sequence[Change]], None], ...]] = (
    money.i6_the_journal_gives_every_balance,
    money.i6_no_prefix_is_below_zero,
    money.i6_nothing_is_written_before_what_was_shown,
    money.i6_nothing_is_paid_from_later_money,
    money.i2_nothing_is_below_zero,
    money.i3_what_is_reserved_is_held,
    money.i5_a_movement_follows_from_its_payment,
    money.i7_a_payment_settles_once,
    money.frozen_accounts_neither_pay_nor_receive,
    money.closed_accounts_are_empty,
    items.i8_only_what_the_table_allows,
    items.i8_definitions_move_by_their_table,
    items.i8_what_newer_code_wrote_stays,
    items.i9_tokens_rise_and_fence,
    items.i12_never_early,
    items.i12_never_after_its_end,
    items.i17_attempts_and_delays,
    items.i19_only_the_tenants_own,
    items.i20_one_line_a_version,
    audits.i11_an_audit_is_to_come,
    audits.i11_no_epoch_comes_back,
    endings.i11_a_run_ends_only_with_its_task,
    chains.i10_one_run_an_instant,
    chains.i10_a_run_begins_where_its_task_lets_it,
    chains.i11_a_run_is_kept_back_for_a_reason,
    queues.i17_a_queue_has_a_bound_and_its_runs_write_little,
    quotas.i17_registrations_keep_to_the_quota,
    quotas.i17_stored_tasks_keep_to_the_quota,
    restricted.i17_a_key_pays_what_it_may,
    flows.a_place_is_given_away_once,
    flows.no_more_begin_than_have_places,
    flows.a_room_holds_what_it_may,
    flows.nothing_begins_under_a_paused_key,
    breakers.a_breaker_opens_after_ten,
    flows.who_begins_is_in_its_room,
    breakers.what_is_down_is_left_alone,
    breakers.no_more_begin_than_may_while_it_recovers,
    breakers.a_destination_is_slow_that_kept_somebody_waiting,
    breakers.slow_destinations_have_a_lane,
    operations.i24_an_operation_changes_what_it_planned,
    operations.i24_notes_what_ends,
    switched.i25_notes_what_is_off,
)
AT_THE_END: Final[tuple[Callable[[Seen], None], ...]] = (
    items_at_rest.i11_nothing_is_lost,
    money.i1_money_is_conserved,
    money.i4_nothing_is_held_for_what_has_ended,
    items_at_rest.i10_one_key_and_rising_tokens,
    items_at_rest.i13_same_key_one_effect,
    items_at_rest.i14_what_was_told_stays,
    items_at_rest.i15_nothing_begins_after_a_cancel,
    items_at_rest.i16_every_letter_has_its_item,
    items_at_rest.i16_poison_is_a_dead_letter,
    chains_at_rest.i11_every_planned_instant_has_a_row,
    chains_at_rest.i11_what_was_backfilled_has_rows,
    chains_at_rest.i13_by_hand_as_often_as_asked,
    items_at_rest.i22_no_batch_breaks_off,
    breakers.a_breaker_closes_when_it_is_answered,
    operations.i24_reports_are_true,
    restricted.i17_the_sum_of_a_day_is_what_was_paid,
)
OF_EVENTS: Final[tuple[Callable[[Seen, streams.Streams], None], ...]] = (
    streams.i20_each_version_is_one_event,
    archived.i20_the_archive_has_each_event,
    streams.i23_a_follower_misses_none,
    streams.i20_the_bus_has_each_event,
)
OF_RETENTION: Final[tuple[Callable[[retaining.Kept], None], ...]] = (
    retaining.i14_an_archived_payment_is_told_as_before,
    retaining.i13_the_key_of_an_archived_payment_is_replayed,
)
OF_ERASURE: Final[tuple[Callable[[leaving.Left], None], ...]] = (
    leaving.i1_amounts_outlive_a_tenant,
    leaving.i19_no_name_outlives_a_tenant,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """`here` in each run of the simulation and each single fault, `elsewhere` by these tests; `open` is what nothing
    shows yet."""

    here: tuple[Callable[..., Any], ...] = ()
    elsewhere: tuple[str, ...] = ()
    open: str = ""


INVARIANTS: Final[dict[str, Shown]] = {
    "I1": Shown(
        here=(money.i1_money_is_conserved, leaving.i1_amounts_outlive_a_tenant),
        elsewhere=("test_steps_of_eight_clients_at_once_leave_every_invariant_true",),
    ),
    "I2": Shown(
        here=(money.i2_nothing_is_below_zero,), elsewhere=("test_a_balance_does_not_fall_below_nothing",)
    ),
    "I3": Shown(
        here=(money.i3_what_is_reserved_is_held,),
        elsewhere=("test_whatever_happens_money_is_conserved_and_held_for_what_is_open",),
    ),
    "I4": Shown(here=(money.i4_nothing_is_held_for_what_has_ended,)),
    "I5": Shown(
        here=(money.i5_a_movement_follows_from_its_payment,),
        elsewhere=("test_a_payment_has_one_movement_whatever_its_plan_and_its_attempts",),
    ),
    "I6": Shown(
        here=(
            money.i6_the_journal_gives_every_balance,
            money.i6_no_prefix_is_below_zero,
            money.i6_nothing_is_written_before_what_was_shown,
            money.i6_nothing_is_paid_from_later_money,
        ),
        elsewhere=("test_any_group_has_the_outcome_of_its_postings_one_by_one",),
    ),
    "I7": Shown(
        here=(
            money.i7_a_payment_settles_once,
            money.frozen_accounts_neither_pay_nor_receive,
            money.closed_accounts_are_empty,
        ),
        elsewhere=("test_a_payment_that_everybody_settles_at_once_moves_money_once",),
    ),
    "I8": Shown(
        here=(
            items.i8_only_what_the_table_allows,
            items.i8_definitions_move_by_their_table,
            items.i8_what_newer_code_wrote_stays,
        ),
        elsewhere=("test_the_checkers_allow_what_the_tables_allow",),
    ),
    "I9": Shown(
        here=(items.i9_tokens_rise_and_fence,),
        elsewhere=("test_an_outcome_is_fenced_off_once_another_worker_has_the_task",),
    ),
    "I10": Shown(
        here=(
            items_at_rest.i10_one_key_and_rising_tokens,
            chains.i10_one_run_an_instant,
            chains.i10_a_run_begins_where_its_task_lets_it,
        ),
        elsewhere=("test_every_planned_minute_has_its_one_run_although_workers_die",),
    ),
    "I11": Shown(
        here=(
            items_at_rest.i11_nothing_is_lost,
            items_at_rest.i11_nothing_is_left_to_the_audit,
            audits.i11_an_audit_is_to_come,
            audits.i11_no_epoch_comes_back,
            endings.i11_a_run_ends_only_with_its_task,
            chains_at_rest.i11_every_planned_instant_has_a_row,
            chains.i11_a_run_is_kept_back_for_a_reason,
            chains_at_rest.i11_what_was_backfilled_has_rows,
        ),
        elsewhere=("test_the_audit_finds_what_was_lost_and_nothing_else",),
    ),
    "I12": Shown(
        here=(items.i12_never_early, items.i12_never_after_its_end),
        elsewhere=("test_nothing_begins_a_millisecond_early",),
    ),
    "I13": Shown(
        here=(
            items_at_rest.i13_same_key_one_effect,
            chains_at_rest.i13_by_hand_as_often_as_asked,
            retaining.i13_the_key_of_an_archived_payment_is_replayed,
        ),
        elsewhere=("test_one_key_used_by_many_at_once_is_one_payment",),
    ),
    "I14": Shown(
        here=(items_at_rest.i14_what_was_told_stays, retaining.i14_an_archived_payment_is_told_as_before),
    ),
    "I15": Shown(
        here=(
            items_at_rest.i15_nothing_begins_after_a_cancel,
            chains.i10_a_run_begins_where_its_task_lets_it,
        ),
        elsewhere=("test_of_a_cancel_and_a_settlement_at_once_exactly_one_wins",),
    ),
    "I16": Shown(
        here=(
            items_at_rest.i16_every_letter_has_its_item,
            items_at_rest.i16_who_is_dead_has_a_letter,
            items_at_rest.i16_poison_is_a_dead_letter,
        )
    ),
    "I17": Shown(
        here=(
            items.i17_attempts_and_delays,
            queues.i17_a_queue_has_a_bound_and_its_runs_write_little,
            queues.a_queue_moves_on,
            quotas.i17_registrations_keep_to_the_quota,
            quotas.i17_stored_tasks_keep_to_the_quota,
            quotas.i17_deliveries_keep_to_the_share,
            restricted.i17_a_key_pays_what_it_may,
            restricted.i17_the_sum_of_a_day_is_what_was_paid,
            boundary.i17_calls_within_a_budget,
        ),
    ),
    "I18": Shown(
        here=(chains_at_rest.i11_every_planned_instant_has_a_row,),
        elsewhere=("test_the_next_ten_runs_are_those_of_croniter",),
    ),
    "I19": Shown(
        here=(
            items.i19_only_the_tenants_own,
            boundary.i19_asks_only_for_the_tenants_own,
            boundary.i19_is_told_only_of_the_tenants_own,
            leaving.i19_no_name_outlives_a_tenant,
        ),
        elsewhere=("test_another_tenants_task_is_not_found_by_any_way",),
    ),
    "I20": Shown(
        here=(
            items.i20_one_line_a_version,
            streams.i20_each_version_is_one_event,
            archived.i20_the_archive_has_each_event,
            streams.i20_the_bus_has_each_event,
        ),
        elsewhere=("test_random_nights_keep_every_rule",),
    ),
    "I21": Shown(
        here=(items.i9_tokens_rise_and_fence, items.i12_never_early),
        elsewhere=("test_a_clock_that_is_set_back_settles_nothing_early_and_loses_nothing",),
    ),
    "I22": Shown(
        here=(
            items_at_rest.i22_it_comes_to_rest,
            items_at_rest.i22_no_batch_breaks_off,
            items_at_rest.on_time,
            items_at_rest.i22_payments_outlive_their_worker,
        )
    ),
    "I23": Shown(
        here=(streams.i23_a_follower_misses_none,),
        elsewhere=("test_each_version_is_one_event_and_a_follower_misses_none",),
    ),
    "I24": Shown(
        here=(
            operations.i24_an_operation_changes_what_it_planned,
            operations.i24_an_operation_calls_what_it_planned,
            operations.i24_notes_what_ends,
            operations.i24_each_is_carried_out,
            operations.i24_reports_are_true,
        ),
        elsewhere=("test_each_item_is_acted_on_once_whatever_fails",),
    ),
    "I25": Shown(
        here=(switched.i25_notes_what_is_off, switched.i25_nothing_settles_while_it_is_off),
        elsewhere=("test_stopped_payments_wait_and_are_settled_in_order",),
    ),
    "I26": Shown(
        here=(destination.i26_each_delivery_is_signed,),
        elsewhere=("test_a_delivery_has_the_headers_and_a_signature",),
    ),
}
