"""Numbers as text of a fixed length that sorts as they do: Crockford's base 32, in small letters."""

from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES: Final = {character: value for value, character in enumerate(_ALPHABET)}
CHARACTERS: Final = frozenset(_ALPHABET)


def encode(number: int, length: int) -> str:
    """The last `length` digits."""
    return "".join(_ALPHABET[number >> 5 * digit & 31] for digit in reversed(range(length)))


def decode(text: str) -> int:
    """The number of a text of CHARACTERS."""
    number = 0
    for character in text:
        number = number << 5 | _VALUES[character]
    return number
