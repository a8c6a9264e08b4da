"""Brings up a local stack, deployed and seeded, from nothing or from what an earlier start left."""

import re
from concurrent.futures import ThreadPoolExecutor

from cli import tenants
from cli.local import aws, deploy, ministack, secrets, seed
from cli.local.once import alone
from cli.local.place import Place
from cli.local.processes import Process
from cli.local.stack import Keys, Stack, saved
from cli.local.warm import warm
from cli.progress import say, step


def up(place: Place) -> Stack:
    """A running stack is brought up to date and keeps its data and keys. A new one is stopped again if it fails."""
    with alone(place.lock):
        left_over = place.engine_file.exists()
        engine = ministack.running(place)
        if left_over and not engine:
            say("The last stack here was not stopped but ended; what it left is cleared away.")
        if not engine:
            ministack.refuse_taken(place)
        known = saved(place) if engine else None
        try:
            return _brought_up(place, engine, known)
        except BaseException:
            if not engine:
                ministack.stop(place)
            raise


def _brought_up(place: Place, engine: Process | None, known: Stack | None) -> Stack:
    place.deploy_log.write_text("")
    with ThreadPoolExecutor(max_workers=1) as beside:
        synthesis = beside.submit(deploy.synthesise, place)
        if not engine:
            with step("starting the engine"):
                engine = ministack.start(place)
        if not known:
            with step("bootstrapping it"):
                deploy.bootstrap(place)
        synthesis.result()
    with step("deploying"):
        outputs = deploy.deploy(place)
    with step("seeding tenants and keys"), aws.speaking_to(place):
        stack = _seeded(place, outputs, known, engine.pid)
    stack.save(place)
    with step("starting workers"):
        warm(place)
    return stack


def _seeded(place: Place, outputs: dict[str, str], known: Stack | None, pid: int) -> Stack:
    destinations = seed.destinations()
    tables = _named(outputs, re.compile("(.+)Table"))
    table, vault, keys = tables["tenants"], secrets.vault(tables), secrets.key_table(tables)
    demo = tenants.tenant(
        *(table, "demo"),
        vault=vault,
        destinations=destinations.items(),
        default_queue=destinations[tenants.SQS],
    )
    other = tenants.tenant(table, "other", vault=vault)
    # Keys of an earlier start stay valid, because clients may use them.
    bearers = known or Keys(
        api_key=tenants.key(keys, demo.id, tenants.USUAL),
        admin_key=tenants.key(keys, demo.id, tenants.SCOPES),
        operator_key=tenants.operator_key(keys, tenants.SCOPES),
        other_tenant_key=tenants.key(keys, other.id, tenants.USUAL),
        internal_token=tenants.internal_token(keys),
    )
    api_url = f"{place.endpoint_url}/_aws/execute-api/{outputs['ApiId']}"
    return Stack(
        api_url=api_url,
        console_url=f"{api_url}/console",
        docs_url=f"{api_url}/docs",
        endpoint_url=place.endpoint_url,
        region=aws.REGION,
        api_key=bearers.api_key,
        admin_key=bearers.admin_key,
        operator_key=bearers.operator_key,
        other_tenant_key=bearers.other_tenant_key,
        internal_token=bearers.internal_token,
        signing_secret=demo.signing_secrets[0],
        destination_queue_url=destinations["sqs"],
        destinations=destinations,
        payloads_bucket=outputs["PayloadsBucket"],
        tables=tables,
        queues=_named(outputs, re.compile("(.+)QueueUrl|(.+Dlq)Url")),
        pid=pid,
    )


def _named(outputs: dict[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    """`TasksDlqUrl` is `tasks_dlq`."""
    matches = {pattern.fullmatch(name): value for name, value in outputs.items()}
    return {
        re.sub("(?<!^)(?=[A-Z])", "_", match[match.lastindex or 1]).lower(): value
        for match, value in matches.items()
        if match
    }
