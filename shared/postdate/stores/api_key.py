"""A key of the API: its owner, its rights and its secret, of which only a keyed hash is stored (see `key_hashes`)."""

from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Final

from postdate.stores.key_hashes import KeyHashes, is_keyed

PREFIX: Final = "pd"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """A key and its rights. A key with the scope INTERNAL is another service's, and good for nothing else."""

    # The public part of the key's text.
    id: str
    # The keyed hash of the secret, an HMAC with SHA-256; of older releases SHA-256 alone.
    secret_sha256: str
    # The owner; None for an operator's key, which names a tenant in each request.
    tenant: str | None
    # The groups of operations that it may ask for.
    scopes: frozenset[str]
    # The accounts that it may pay from and administer; None for all.
    accounts: frozenset[str] | None = None
    # The instant from which it is refused; None for a key that does not expire.
    expires_at: datetime | None = None
    # The owner's name for it; empty if none was given.
    name: str = ""
    # The greatest amount of one payment; None without a limit.
    amount_max: int | None = None
    # The greatest sum of payments on a UTC day; None without a limit.
    amount_per_day_max: int | None = None
    # The CIDR blocks that its requests may come from; None for anywhere.
    networks: tuple[str, ...] | None = None
    # The only operations of the API that it may ask for, by their names; None for all of its scopes.
    actions: frozenset[str] | None = None
    # True if it may ask for no operation that writes, whatever its scopes say.
    read_only: bool = False
    # The limit of all its requests; None for no limit of its own.
    requests_a_second: int | None = None
    # The hash of the secret before the last rotation; None without a rotation.
    before_sha256: str | None = None
    # The instant until which that secret is accepted; None without a rotation.
    before_until: datetime | None = None
    # The id of the key that made it; empty for a key of the command line.
    made_by: str = ""
    # The instant at which it was made; None for keys of releases that did not keep it.
    created_at: datetime | None = None
    # The last use, up to a minute old; None if it was never used.
    last_used_at: datetime | None = None
    # The instant of the revocation, set once: `expires_at` is then no later. None before.
    revoked_at: datetime | None = None

    @property
    def prefix(self) -> str:
        """The beginning of the key's text. It is no secret and leads to the key."""
        return f"{PREFIX}_{self.id}"

    def accepts(self, secret: str, *, now: datetime, hashes: KeyHashes) -> bool:
        """True if the key has not expired and the secret fits: the current one, or the one before the last rotation
        within the overlap. Raises Unavailable if that cannot be told now."""
        fits = hashes.fits(self.secret_sha256, secret)
        if self.before_sha256 is not None and self.before_until is not None and now < self.before_until:
            fits |= hashes.fits(self.before_sha256, secret)
        return fits and self.is_live(now)

    def keyed(self, secret: str, hashes: KeyHashes) -> "ApiKey":
        """The key with a keyed hash of a secret that it accepted, in place of one of an older release. Raises
        Unavailable."""

        def kept(stored: str) -> str:
            is_old = not is_keyed(stored) and hashes.fits(stored, secret)
            return hashes.of(secret) if is_old else stored

        before = self.before_sha256
        return replace(
            self,
            secret_sha256=kept(self.secret_sha256),
            before_sha256=None if before is None else kept(before),
        )

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def is_usable_from(self, address: str) -> bool:
        if self.networks is None:
            return True
        try:
            sender = ip_address(address)
        except ValueError:
            return False
        return any(sender in ip_network(network) for network in self.networks)
