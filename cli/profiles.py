"""Profiles: addresses and keys of services by name, in a file that only its owner may read."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from cli.failure import NotReady

CHOSEN: Final = "POSTDATE_PROFILE"
LOCAL: Final = "local"


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """`tenant` is that which an operator's key acts for; None for a tenant's own key."""

    url: str
    key: str
    tenant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiles:
    """`current` is the profile that is used without another choice; None for the local stack."""

    current: str | None = None
    known: Mapping[str, Profile] = field(default_factory=dict)

    def named(self, name: str) -> Profile:
        if name not in self.known:
            names = ", ".join([LOCAL, *sorted(self.known)])
            raise NotReady(
                f"There is no profile {name}: {names}. Add it: postdate profile add {name} --url <url>"
            )
        return self.known[name]


def read(environment: Mapping[str, str] = os.environ) -> Profiles:
    try:
        told = json.loads(path(environment).read_text(encoding="utf-8"))
        known = {name: Profile(**each) for name, each in told["known"].items()}
        return Profiles(current=told["current"], known=known)
    except FileNotFoundError:
        return Profiles()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotReady(
            f"{path(environment)} is not a file of profiles. Delete it, and add them anew."
        ) from error


def write(profiles: Profiles, environment: Mapping[str, str] = os.environ) -> None:
    """A reader sees the whole file or none."""
    file = path(environment)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(
        os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as opened:
        json.dump(asdict(profiles), opened, indent=2)
    new.replace(file)


def path(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".config"
    return Path(home) / "postdate" / "profiles.json"
