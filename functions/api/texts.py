"""Texts that people read: names, tags, descriptions and the like. They are shown as they were given, so nothing in them
may be invisible or change how the text around it is read."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field

# Controls, formats (bidirectional and zero-width ones among them), surrogates, and the two separators of lines.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Unicode's Default_Ignorable_Code_Point outside of these categories: fillers, selectors, joiners that show nothing.
# https://www.unicode.org/Public/17.0.0/ucd/DerivedCoreProperties.txt
_IGNORABLE: Final = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2060, 0x206F)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF)),
)
# They choose between the plain and the coloured form of the sign before them.
_OF_SIGNS: Final = "\ufe0e\ufe0f"


def is_seen(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or not any(map(_is_unseen, text))


def _plain(text: str) -> str:
    for char in text if not is_seen(text) else "":
        if _is_unseen(char):
            raise ValueError(f"contains an invisible character, U+{ord(char):04X}")
    return text


def _is_unseen(char: str) -> bool:
    if unicodedata.category(char) in _UNSEEN:
        return True
    return char not in _OF_SIGNS and any(first <= ord(char) <= last for first, last in _IGNORABLE)


# Goes beside the bounds of a text's length.
SEEN: Final = AfterValidator(_plain)
Seen = Annotated[str, SEEN]
Description = Annotated[str, Field(max_length=500), SEEN]
Metadata = dict[
    Annotated[str, Field(min_length=1, max_length=40), SEEN], Annotated[str, Field(max_length=500), SEEN]
]
METADATA_PAIRS_MAX: Final = 20


def pairs(metadata: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Metadata as it is kept, in the order of its names."""
    return tuple(sorted(metadata.items()))
