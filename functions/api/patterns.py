"""The patterns that texts of a request have to match, each with the words in which a mismatch is told."""

from collections.abc import Mapping
from typing import Final

ACCOUNT_ID: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
IDEMPOTENCY_KEY: Final = r"^[\x21-\x7e]{1,255}$"
EXECUTION_ID: Final = r"^[\x21-\x7e]{1,128}$"
ADDRESS: Final = r"^[\x21-\x7e]+$"
TENANT_ID: Final = r"^[a-z0-9][a-z0-9-]{0,62}$"

WORDS: Final[Mapping[str, str]] = {
    ACCOUNT_ID: "has 1 to 64 letters, digits and any of . _ : - and begins with a letter or a digit",
    IDEMPOTENCY_KEY: "has 1 to 255 visible ASCII characters",
    ADDRESS: "has visible ASCII characters only",
    TENANT_ID: "has 1 to 63 lower-case letters, digits and hyphens and begins with a letter or a digit",
    EXECUTION_ID: "has 1 to 128 visible ASCII characters",
}
