"""The same CDK app as on AWS, deployed to the local engine by the same command line."""

import subprocess
from pathlib import Path
from typing import Final

from cli.failure import Failure
from cli.local import aws, cdk, node
from cli.local.layer import layer
from cli.local.once import ROOT, built, mark_of
from cli.local.place import Place

ASSETS_BUCKET: Final = f"cdk-hnb659fds-assets-{aws.ACCOUNT}-{aws.REGION}"
NOT_DEPLOYED: Final = frozenset({"cdk.out", "cli", "docs", "examples", "node_modules", "tests"})
LINES_SHOWN: Final = 25


def synthesise(place: Place) -> None:
    """Done again only when something has changed that it may have read: it takes longer than all the rest."""
    sources = (*_project_files(), mark_of(layer("local")), mark_of(node.tools()))
    built(place.assembly, lambda to: _synthesise(place, to), of=sources)


def bootstrap(place: Place) -> None:
    """The assets' bucket refuses what comes without TLS; the local engine has none, so that one policy goes."""
    _cdk(place, "bootstrap", "--app", "", f"aws://{aws.ACCOUNT}/{aws.REGION}")
    with aws.speaking_to(place):
        aws.client("s3").delete_bucket_policy(Bucket=ASSETS_BUCKET)


def deploy(place: Place) -> dict[str, str]:
    """Deploys what was synthesised and answers the stacks' outputs by name."""
    _cdk(
        *(place, "deploy", "--all", "--app", str(place.assembly)),
        *("--require-approval", "never", "--method", "direct", "--progress", "events"),
    )
    with aws.speaking_to(place):
        stacks = aws.client("cloudformation").describe_stacks()["Stacks"]
    ours = (stack for stack in stacks if stack["StackName"].startswith("postdate-"))
    return {output["OutputKey"]: output["OutputValue"] for stack in ours for output in stack["Outputs"]}


def _synthesise(place: Place, to: Path) -> None:
    _cdk(place, "synth", "--quiet", "--context", "env=local", "--output", str(to))


def _project_files() -> list[Path]:
    """The files that a deployment may depend on: all but those of folders that surely have no part in it."""
    folders = [
        path for path in ROOT.iterdir() if not path.name.startswith(".") and path.name not in NOT_DEPLOYED
    ]
    files = [file for folder in folders for file in (folder.rglob("*") if folder.is_dir() else [folder])]
    return sorted(file for file in files if file.is_file() and file.parent.name != "__pycache__")


def _cdk(place: Place, *arguments: str) -> None:
    environment = cdk.environment(aws.environment(place)) | {
        "POSTDATE_REQUIRE_LAYER": "1",
        "CDK_VALIDATION": "false",
    }
    with place.deploy_log.open("a") as log:
        print("cdk", *arguments, file=log, flush=True)
        ran = subprocess.run(
            cdk.command(*arguments), cwd=ROOT, env=environment,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
        )  # fmt: skip
    if ran.returncode:
        tail = "\n".join(place.deploy_log.read_text(errors="replace").splitlines()[-LINES_SHOWN:])
        raise Failure(f"cdk {arguments[0]} failed:\n{tail}\n(all of it: {place.deploy_log})")
