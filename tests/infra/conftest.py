from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cli.local.once import alone
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import Stacks, Synthesised, read, synthesise


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
def synthesised(build: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Synthesised:
    """The process that asks first synthesises for all processes of this run, for it takes seconds."""
    own = tmp_path_factory.getbasetemp()
    common = own if worker_id == "master" else own.parent

    def stacks(name: str, environment: Environment, **options: Any) -> Stacks:
        assembly, mark = common / f"assembly-{name}", common / f"assembly-{name}.made"
        with alone(mark.with_suffix(".lock")):
            if not mark.exists():
                synthesise(environment, build=build, assembly=assembly, **options)
                mark.touch()
        return read(environment, assembly)

    return stacks


@pytest.fixture(scope="session")
def stacks_of(synthesised: Synthesised) -> Callable[[str], Stacks]:
    return cache(lambda name: synthesised(name, ENVIRONMENTS[name]))


@pytest.fixture(params=ENVIRONMENTS)
def stacks(request: pytest.FixtureRequest, stacks_of: Callable[[str], Stacks]) -> Stacks:
    return stacks_of(request.param)
