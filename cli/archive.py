"""The archive, read by an operator: every manifest and every object is compared with what they say."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, Final

from cli import archive_payments
from cli.archive_payments import VerifiedPayments
from cli.failure import Failure
from postdate.domain import archiving
from postdate.domain.archiving import Manifest, Stored
from postdate.stores.archive import Archive, S3Archive
from postdate.stores.vault import Vault

_ALL: Final = "manifests/"
_EVENTS: Final = "events/"


def reached(settings: Mapping[str, str], s3: Any) -> Archive:
    """`settings` are those of the function `archive`."""
    return S3Archive(bucket=settings["ARCHIVE_BUCKET"], client=s3)


@dataclass(kw_only=True, slots=True)
class Verified:
    """`problems` are contradictions. `unnamed` are objects of runs that died before their manifest; they do no harm."""

    owners: int = 0
    manifests: int = 0
    objects: int = 0
    events: int = 0
    bytes: int = 0
    unnamed: int = 0
    payments: VerifiedPayments = field(default_factory=VerifiedPayments)
    problems: list[str] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        return {**asdict(self), "ok": not self.problems}


def verify(archive: Archive) -> Verified:
    """Reads every object. Raises Unavailable."""
    found, named = Verified(), set[str]()
    for folder in archive.folders(_ALL):
        found.owners += 1
        before: tuple[Manifest, str, str] | None = None
        for key in archive.keys(folder):
            text = archive.get(key) or b""
            try:
                manifest = Manifest.parse(text)
            except (ValueError, KeyError, TypeError) as error:
                found.problems.append(f"{key}: no manifest: {error!r}")
                continue
            found.manifests += 1
            found.problems += [f"{key}: {each}" for each in _contradictions(manifest, key, before)]
            for stored in manifest.objects:
                named.add(stored.key)
                found.problems += [
                    f"{stored.key}: {each}" for each in _differences(archive, stored, manifest)
                ]
                found.objects += 1
                found.events += stored.events
                found.bytes += stored.bytes
            before = manifest, key, archiving.hash_of(text)
    found.unnamed = len(set(archive.keys(_EVENTS)) - named)
    found.payments = archive_payments.verify(archive)
    found.problems += found.payments.problems
    return found


def _contradictions(manifest: Manifest, key: str, before: tuple[Manifest, str, str] | None) -> Iterator[str]:
    """Names the contradictions of a manifest with its own key and with the manifest before."""
    if manifest.key != key:
        yield f"tells its key as {manifest.key}"
    told = (before[1], before[2]) if before else ("", "")
    if (manifest.previous_key, manifest.previous_sha256) != told:
        yield "does not follow from the manifest before it"
    follows = before is not None and before[0].log == manifest.log
    expected = (before[0].last_page if before and follows else 0) + 1
    if manifest.first_page != expected:
        yield f"begins at page {manifest.first_page}, not at {expected}"
    if manifest.missing:
        yield f"{len(manifest.missing)} events that the feed lists had no row"


def _differences(archive: Archive, stored: Stored, manifest: Manifest) -> Iterator[str]:
    content = archive.get(stored.key)
    if content is None:
        yield "is missing"
        return
    if (len(content), archiving.hash_of(content)) != (stored.bytes, stored.sha256):
        yield "is not what its manifest tells"
        return
    try:
        lines = [json.loads(line) for line in gzip.decompress(content).splitlines()]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        yield f"cannot be read: {error!r}"
        return
    if len(lines) != stored.events:
        yield f"has {len(lines)} events, not {stored.events}"
    if any((each["tenant"], each["subject"]["kind"]) != (manifest.owner, stored.kind) for each in lines):
        yield "has events of another owner or kind"


def read(archive: Archive, vault: Vault, tenant: str, *, day: date | None = None) -> Iterator[dict[str, Any]]:
    """The tenant's events as they were told, kind by kind, each kind in the order of the feed. Raises Failure for a
    tenant without a key: nothing was archived of it, or it was erased."""
    key = archiving.owner_of_key(tenant)
    if not vault.has_key(key):
        raise Failure(f"there is no key for the archive of {tenant}")
    owner = archiving.pseudonym(vault.seal(key, archiving.PURPOSE, tenant))
    for each in archive.keys(archiving.manifests_of(owner)):
        manifest = Manifest.parse(archive.get(each) or b"")
        if day is not None and manifest.day != day:
            continue
        for stored in manifest.objects:
            for line in gzip.decompress(archive.get(stored.key) or b"").splitlines():
                yield archiving.opened(line, lambda text: vault.open(key, archiving.PURPOSE, text))
