"""The dependency layer: what the functions import, as wheels for where they run.

`local` is this machine's own interpreter, `linux-arm64` is Lambda's and the same on every machine that builds it,
so it is uploaded again only when a dependency changed. Both hold bytecode in the place of the sources.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cli.local import bytecode, uv
from cli.local.once import BUILD, ROOT, built
from cli.progress import say
from postdate.targets.registry import KINDS

REQUIREMENTS: Final = ROOT / "requirements" / "runtime.txt"
LAMBDA_PYTHON: Final = "3.14"
PLATFORMS: Final[dict[str, tuple[str, ...]]] = {
    "local": ("--python", sys.executable),
    "linux-arm64": ("--python-platform", "aarch64-manylinux_2_28", "--python-version", LAMBDA_PYTHON),
}
AWS_SERVICES_USED: Final = frozenset(
    {
        "appconfigdata",
        "cloudwatch",
        "dynamodb",
        "dynamodbstreams",
        "kms",
        "lambda",
        "s3",
        "scheduler",
        "secretsmanager",
        "ssm",
        "stepfunctions",
        "sts",
        *(kind.service.name for kind in KINDS.values() if kind.service is not None),
    }
)
PACKAGES_UNUSED: Final = (
    *(
        f"aws_lambda_powertools/utilities/{name}"
        for name in (
            "auth_alpha",
            "batch",
            "circuit_breaker",
            "data_masking",
            "idempotency",
            "kafka",
            "metadata",
            "parser",
            "streaming",
            "validation",
        )
    ),
    "pydantic/v1",
)
METADATA_KEPT: Final = frozenset({"METADATA", "entry_points.txt"})


def layer(platform: str) -> Path:
    """`.build/layer-<platform>`, whose `python` folder Lambda puts on the path."""
    return built(
        BUILD / f"layer-{platform}",
        lambda directory: _install(directory / "python", platform),
        of=(
            *(REQUIREMENTS, Path(__file__), *bytecode.COMPILER),
            " ".join(sorted(AWS_SERVICES_USED)),
            sys.version if platform == "local" else LAMBDA_PYTHON,
        ),
    )


def megabytes(directory: Path) -> float:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


def _install(target: Path, platform: str) -> None:
    uv.run(
        "pip", "install", "--quiet", "--target", target, *PLATFORMS[platform], "--only-binary", ":all:",
        "--no-compile-bytecode", "--link-mode", "copy", "--require-hashes", "-r", REQUIREMENTS,
    )  # fmt: skip
    whole = megabytes(target)
    for path in _unused(target):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    compiler = bytecode.compile_here if platform == "local" else bytecode.compile_for_lambda
    compiler(target, bytecode.Form(prefix="/opt/python", legacy=True, checked=False))
    bytecode.sources_gone(target)
    say(f"  layer-{platform}: {whole:.1f} MB installed, {megabytes(target):.1f} MB kept")


def _unused(target: Path) -> Iterator[Path]:
    yield target / "bin"
    yield target / ".lock"
    yield from (target / name for name in PACKAGES_UNUSED)
    yield from (path for path in (target / "boto3").iterdir() if path.name in {"data", "examples"})
    for service in (target / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in AWS_SERVICES_USED:
            yield service
    for metadata in target.glob("*.dist-info"):
        yield from (path for path in metadata.iterdir() if path.name not in METADATA_KEPT)
    yield from (path for name in ("tests", "__pycache__") for path in target.rglob(name) if path.is_dir())


if __name__ == "__main__":
    for name in PLATFORMS:
        print(layer(name).relative_to(ROOT))
    print(bytecode.functions().relative_to(ROOT))
