"""`make lock`: the exact versions and hashes of everything, for every platform, naming no registry."""

from typing import Final

from cli.local import uv

PROJECT: Final = "pyproject.toml"
COMPILE: Final = (
    *("pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate"),
)


def lock() -> None:
    """The smaller sets are held to what `dev` resolved to, so one version of a library serves all."""
    for group in ("bootstrap", "node", "ministack", "frameworks"):
        uv.run(*COMPILE, "--group", group, "-o", f"requirements/{group}.txt")
    uv.run(*COMPILE, PROJECT, "--group", "infra", "--group", "test", "-o", "requirements/dev.txt")
    as_in_dev = ("--constraints", "requirements/dev.txt")
    uv.run(*COMPILE, PROJECT, "--group", "infra", *as_in_dev, "-o", "requirements/infra.txt")
    uv.run(*COMPILE, PROJECT, *as_in_dev, "-o", "requirements/runtime.txt")


if __name__ == "__main__":
    lock()
