"""The form of a sealed secret: a mark, and text that only the vault can open."""

from typing import Final

MARK: Final = "s1."
# 15 bytes of the sealed text's first half, which is a keyed hash (stores/vault.py).
_HASH_CHARACTERS: Final = 20


def is_sealed(text: str) -> bool:
    return text.startswith(MARK)


def hash_of_sealed(text: str) -> str:
    """A keyed hash of the secret: the same for the same value of one owner and purpose."""
    return text.removeprefix(MARK)[:_HASH_CHARACTERS]
