"""The CDK app: `cdk synth -c env=local|dev|staging|prod`. It needs no account, no Docker and no network."""

import os
import sys
from pathlib import Path

from aws_cdk import App, Tags

from infra.bundle import BUILD
from infra.constructs.layer import LayerMissing
from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from infra.service import Service
from infra.state import State
from infra.watch.stack import Watch


def postdate(
    app: App,
    environment: Environment,
    *,
    build: Path = BUILD,
    require_layer: bool = False,
    first: bool = False,
) -> tuple[State, Service, Watch | None]:
    """Makes the stacks of an environment. `first` is for their first deployment, which may still have to be taken
    back."""
    state = State(app, environment=environment, protected=environment.keeps_data and not first, first=first)
    service = Service(app, environment=environment, state=state, build=build, require_layer=require_layer)
    watch = Watch(app, environment=environment, api_id=service.api_id) if environment.watched else None
    Tags.of(app).add("postdate:environment", environment.name)
    return state, service, watch


def main() -> None:
    app = App(analytics_reporting=False)
    chosen = app.node.try_get_context("env") or "local"
    if chosen not in ENVIRONMENTS:
        sys.exit(f"there is no environment {chosen!r}; choose one of {', '.join(ENVIRONMENTS)}")
    required = os.environ.get("POSTDATE_REQUIRE_LAYER") == "1"
    first = app.node.try_get_context("first") == "true"
    try:
        postdate(app, ENVIRONMENTS[chosen], require_layer=required, first=first)
    except LayerMissing as missing:
        sys.exit(str(missing))
    app.synth()


if __name__ == "__main__":
    main()
