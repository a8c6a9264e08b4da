from pathlib import Path

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Annotations, Match

from infra.constructs.layer import Layer, LayerMissing
from infra.environments import DEV
from tests.infra.synthesis import app


def test_without_its_dependencies_a_stack_is_synthesised_with_a_warning(tmp_path: Path) -> None:
    stack = Stack(app(tmp_path / "out"))
    Layer(stack, "dependencies", environment=DEV, build=tmp_path, required=False)
    warning = Match.string_like_regexp("layer-linux-arm64 has not been built: run `make layer`")
    Annotations.from_stack(stack).has_warning("*", warning)


def test_a_deployment_without_its_dependencies_is_refused(tmp_path: Path) -> None:
    stack = Stack(app(tmp_path / "out"))
    with pytest.raises(LayerMissing, match="layer-linux-arm64 has not been built: run `make layer`"):
        Layer(stack, "dependencies", environment=DEV, build=tmp_path, required=True)
