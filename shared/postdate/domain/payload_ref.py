"""A payload that lies where its tenant put it: an object inside the tenant's prefix of the bucket that is there for
that, `s3://<bucket>/<tenant>/<name>`.

What is no plain name is refused, be it harmless or not: an object's name is compared as it is written and nowhere
normalised or decoded, so it may have nothing that a program on the way would read as another name.
"""

import re
from typing import Final

PAYLOAD_BYTES_MAX: Final = 256 * 1024
NAME_RULE: Final = "letters, digits and any of !_.'()=@,+:- in parts that are neither empty nor only dots"
# The longest key that S3 takes, the tenant's part included.
_NAME_CHARS_MAX: Final = 1024
_PART: Final = r"(?!\.+(?:/|\Z))[A-Za-z0-9!_.'()=@,+:-]+"
_NAME: Final = re.compile(f"{_PART}(?:/{_PART})*")
# The text becomes part of a policy, so it has no wildcard and no variable of policies.
_TENANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def prefix_of(bucket: str, tenant: str) -> str:
    return f"s3://{bucket}/{tenant}/"


def object_of(ref: str, *, bucket: str, tenant: str) -> str | None:
    """The object's name in the bucket; None unless it is inside the tenant's prefix."""
    prefix = prefix_of(bucket, tenant)
    if not _TENANT.fullmatch(tenant) or not ref.startswith(prefix):
        return None
    name = ref.removeprefix(prefix)
    if not _NAME.fullmatch(name) or len(tenant) + 1 + len(name) > _NAME_CHARS_MAX:
        return None
    return f"{tenant}/{name}"
