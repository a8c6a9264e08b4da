"""A restored table of any instant under a watermark of later: nothing that waited in it is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.doubles import MINUTE, START, a_task
from tests.unit.sweep.test_put_back import HOUR, PATIENT, Restored


@settings(max_examples=8, derandomize=True, deadline=None, database=None)
@given(
    since=st.integers(75, 150),
    lost=st.integers(0, 120),
    tasks=st.lists(
        st.tuples(st.integers(1, 180), st.sampled_from(["ends", "fails", "hangs"])),
        min_size=1,
        max_size=12,
    ),
)
def test_nothing_that_waited_is_lost_whenever_the_table_is_of(since, lost, tasks):
    made = [
        a_task(number, due_at=START + minutes * MINUTE, retry=PATIENT)
        for number, (minutes, _) in enumerate(tasks, start=1)
    ]
    kind = {task.id: temper for task, (_, temper) in zip(made, tasks, strict=True)}
    world = Restored(
        fails=frozenset(id for id, temper in kind.items() if temper == "fails"),
        hangs=frozenset(id for id, temper in kind.items() if temper == "hangs"),
    )
    world.sweeping.stores(*made)
    world.lives(START + since * MINUTE, every=5 * MINUTE)
    instant, backup, waiting = world.sweeping.clock.now(), world.backup(), world.waiting
    world.lives(instant + lost * MINUTE, every=5 * MINUTE)
    world.restores(backup)
    world.fails = world.hangs = frozenset()
    world.recovers(instant)
    world.lives(START + 7 * HOUR, every=5 * MINUTE)
    assert world.waiting == set()
    assert waiting <= set(world.called)
