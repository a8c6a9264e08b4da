from pathlib import Path

from aws_cdk import Annotations, aws_lambda
from constructs import Construct

from infra.bundle import bundle_layer
from infra.constructs.runtime import RUNTIME, architecture
from infra.environment import Environment


class LayerMissing(RuntimeError):
    """The dependency layer of this platform has not been built."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has not been built: run `make layer`")


class Layer(aws_lambda.LayerVersion):
    """The production dependencies, built beforehand for the functions' platform: synthesising builds nothing.

    Without them a template is right in everything but this asset, so that is a warning until `required`.
    """

    def __init__(
        self, scope: Construct, name: str, *, environment: Environment, build: Path, required: bool
    ) -> None:
        built = build / f"layer-{environment.platform}"
        missing = None if (built / "python").is_dir() else LayerMissing(built.name)
        if missing and required:
            raise missing
        super().__init__(
            scope,
            name,
            layer_version_name=environment.named(name),
            code=aws_lambda.Code.from_asset(str(bundle_layer(_stand_in(build) if missing else built))),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[architecture(environment)],
        )
        if missing:
            Annotations.of(self).add_warning_v2("postdate:layer-missing", str(missing))


def _stand_in(build: Path) -> Path:
    folder = build / "layer-missing"
    (folder / "python").mkdir(parents=True, exist_ok=True)
    (folder / "python" / "README").write_text("The dependency layer was not built: run `make layer`.\n")
    return folder
