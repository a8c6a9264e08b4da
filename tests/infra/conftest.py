from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import Stacks, synthesise


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with both layers in it, so that no test waits for the real ones."""
    folder = tmp_path_factory.mktemp("build")
    for platform in {environment.platform for environment in ENVIRONMENTS.values()}:
        package = folder / f"layer-{platform}" / "python" / "dependency"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    return folder


@pytest.fixture(scope="session")
def stacks_of(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Stacks]:
    """Synthesising is slow: each environment once."""
    return cache(
        lambda name: synthesise(ENVIRONMENTS[name], build=build, assembly=tmp_path_factory.mktemp(name))
    )


@pytest.fixture(params=ENVIRONMENTS)
def stacks(request: pytest.FixtureRequest, stacks_of: Callable[[str], Stacks]) -> Stacks:
    return stacks_of(request.param)
