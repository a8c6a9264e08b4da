"""The invariants of items, one function each, by their numbers. They ask none of the code that they judge.

I8   no line of history follows a final one, and each has the version after the one before
I9   tokens of a run rise from attempt to attempt, and none is above what its row has given away
I10  all attempts of a run carry its id as their key; each instant that a cron names has one run
I11  what was accepted is there and has ended; what succeeded has arrived; what arrived is ours
I12  no attempt begins, and none arrives, before its instant
I13  one item a key, whatever was asked how often; the same answer again, and none to another body
I14  nothing that a client was told is undone
I15  what was cancelled stays so, and no attempt begins after it
I16  every dead letter is about a dead item and every dead item has its letter; nothing else is left in a queue
I17  no more attempts than the policy has, and none sooner than it says
I20  one line a version, without a gap
"""

from typing import Final

from chaos.answer_checks import (
    i13_asked_again_the_answer_is_the_same,
    i13_one_item_a_key,
    i14_what_was_told_stays,
    i15_a_cancel_stays,
)
from chaos.arrival_checks import (
    i9_tokens_rise,
    i10_one_key_a_run,
    i10_one_run_a_planned_instant,
    i11_what_succeeded_has_arrived,
    i12_no_arrival_is_early,
)
from chaos.item_checks import (
    i8_nothing_leaves_a_final_state,
    i11_what_was_accepted_has_ended,
    i12_nothing_begins_early,
    i16_letters_and_the_dead,
    i16_the_queues_are_empty,
    i17_attempts_and_delays,
    i20_history_has_no_gap,
)
from chaos.items import Check

CHECKS: Final[tuple[Check, ...]] = (
    i8_nothing_leaves_a_final_state,
    i9_tokens_rise,
    i10_one_key_a_run,
    i10_one_run_a_planned_instant,
    i11_what_was_accepted_has_ended,
    i11_what_succeeded_has_arrived,
    i12_no_arrival_is_early,
    i12_nothing_begins_early,
    i13_one_item_a_key,
    i13_asked_again_the_answer_is_the_same,
    i14_what_was_told_stays,
    i15_a_cancel_stays,
    i16_letters_and_the_dead,
    i16_the_queues_are_empty,
    i17_attempts_and_delays,
    i20_history_has_no_gap,
)
