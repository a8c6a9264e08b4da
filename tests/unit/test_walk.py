"""A reader follows one item through few files and returns to few of them. A change that winds the way further fails."""

import pytest

from tests import walk
from tests.walk import Walk


@pytest.mark.parametrize(
    ("act", "most"),
    [
        (walk.payment, Walk(files=20, functions=44, returns=14)),
        (walk.failing_task, Walk(files=31, functions=139, returns=81)),
        (walk.late_occurrence, Walk(files=41, functions=150, returns=169)),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_the_way_of_an_item_stays_short(act, most):
    # The first walk fills caches, as another test may have done before.
    act()
    taken = act()
    assert (taken.files, taken.functions) > (10, 30), "the walk ran no product code"
    assert taken.files <= most.files
    assert taken.functions <= most.functions
    assert taken.returns <= most.returns
