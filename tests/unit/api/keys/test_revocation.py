"""The time for which a revoked key still works: one number in the code, in the texts, and in the test that measures."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from functions.api.keys import routes
from functions.api.parts import guards
from tests.e2e.test_keys import REVOKED_WITHIN_SECONDS

TELLS = re.compile(r"(?:revoked key|revocation|key's row)[^|]{0,80}?(\d+) seconds", re.IGNORECASE)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "SECURITY.md",
        "docs/architecture.md",
        "docs/guarantees.md",
        "docs/decisions/0005-who-may.md",
    ],
)
def test_each_page_tells_the_time_for_which_a_row_is_kept(page):
    told = {int(seconds) for seconds in TELLS.findall(Path(page).read_text())}
    assert told == {guards._KEY_KEPT // timedelta(seconds=1)}


def test_the_description_and_the_measurement_have_the_same_bound():
    (revoke,) = (each for each in routes.KEYS.operations if each.name == "revokeKey")
    assert re.findall(r"within (\d+) seconds", revoke.text) == [str(REVOKED_WITHIN_SECONDS)]
    assert timedelta(seconds=REVOKED_WITHIN_SECONDS) == guards._KEY_KEPT
