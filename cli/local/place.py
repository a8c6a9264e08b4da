"""The files of one local stack. Each port has a directory of its own, so stacks can run side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.local.once import ROOT

DEFAULT_PORT: Final = 4566


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    port: int
    directory: Path

    @classmethod
    def of(cls, port: int, environment: Mapping[str, str]) -> "Place":
        """`.local`, `.local/<port>` for any port but the usual one, or what POSTDATE_LOCAL_DIR says."""
        own = ROOT / ".local" if port == DEFAULT_PORT else ROOT / ".local" / str(port)
        return cls(port=port, directory=Path(environment.get("POSTDATE_LOCAL_DIR", own)).absolute())

    @classmethod
    def every(cls) -> list["Place"]:
        """The places of all stacks that were started in this directory."""
        usual = ROOT / ".local"
        ports = sorted(int(path.name) for path in usual.glob("*") if path.name.isdigit())
        return [cls.of(port, {}) for port in (DEFAULT_PORT, *ports)] if usual.exists() else []

    @property
    def stops_it(self) -> str:
        """The command that ends the stack of this port."""
        return f"make down{self._named}"

    @property
    def starts_it(self) -> str:
        return f"make up{self._named}"

    @property
    def _named(self) -> str:
        return "" if self.port == DEFAULT_PORT else f" PORT={self.port}"

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def lock(self) -> Path:
        return self.directory / "lock"

    @property
    def stack_file(self) -> Path:
        return self.directory / "stack.json"

    @property
    def engine_file(self) -> Path:
        return self.directory / "engine.json"

    @property
    def engine_log(self) -> Path:
        return self.directory / "ministack.log"

    @property
    def deploy_log(self) -> Path:
        return self.directory / "deploy.log"

    @property
    def assembly(self) -> Path:
        return self.directory / "cdk.out"

    @property
    def temporary(self) -> Path:
        """The folder for all that the engine and its functions unpack. It is removed with the stack."""
        return self.directory / "tmp"
