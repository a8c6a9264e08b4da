"""International host names: called only as both standards of IDNA read them."""

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.names import name_of

ONLY_IDNA_2003 = {
    "a tatweel, which only stretches a word": "\u0645\u0640\u062b\u0627\u0644.example",
    "a combining sign without a letter": "a.\u0300b.example",
    "an enclosing mark": "a\u0488.example",
    "a Hangul letter by itself": "\u1100.example",
    "a Roman numeral of Aegean": "a\U00010100.example",
    "a vertical mark of repetition": "\u3031a.example",
    "a Latin letter in a right-to-left label": "\u05d0b.example",
    "a right-to-left label that begins with a digit": "0\u05d0.example",
    "digits of two scripts": "\u0627\u0661\u06f1.example",
    "a snowman": "\u2603.example",
    "a heart": "i\u2665ny.example",
    "a fraction slash": "a\u2044b.example",
}
BOTH = [
    "b\u00fccher.example",
    "\u4f8b\u3048.\u30c6\u30b9\u30c8",
    "\u0645\u062b\u0627\u0644.example",
    "\u03b5\u03bb.example",
]


@pytest.mark.parametrize("host", ONLY_IDNA_2003.values(), ids=ONLY_IDNA_2003)
def test_a_name_that_only_idna_2003_allows_is_refused(host: str) -> None:
    with pytest.raises(DestinationNotAllowed):
        name_of(host)


@pytest.mark.parametrize("host", BOTH)
def test_a_name_that_both_standards_read_alike_passes(host: str) -> None:
    assert name_of(host) == host.encode("idna").decode()


@given(st.text(min_size=1, max_size=8))
def test_no_name_passes_that_idna_2008_refuses_or_reads_in_another_way(label: str) -> None:
    host = f"a{label}.example"
    try:
        name = name_of(host)
    except DestinationNotAllowed:
        return
    written = "".join(char.lower() if char.isascii() else char for char in host)
    assert idna.encode(written, strict=True).decode() == name
    assert idna.decode(name) == written
