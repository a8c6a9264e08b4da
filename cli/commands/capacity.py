"""Forecast the lateness of a load in an environment, from AWS's documented limits."""

import argparse
from typing import Any

from infra.capacity import forecast
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", default="prod", choices=tuple(ENVIRONMENTS), help="the environment (prod)")
    parser.add_argument(
        "--due", type=_number, default=500_000, help="tasks that are due at one instant (500000)"
    )
    parser.add_argument("--tenants", type=_number, help="tenants that share the tasks (one for each task)")
    parser.add_argument(
        "--payments", type=_number, default=350, help="payments a second at the same time (350)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    tasks = forecast.tasks(environment, due=options.due, tenants=options.tenants or options.due)
    payments = forecast.payments(environment, rate=options.payments)
    return tasks | {"payments": payments}


def show(answer: dict[str, Any]) -> str:
    payments = answer["payments"]
    lines = [
        f"{answer['environment']}: {answer['due']:,} tasks of {answer['tenants']:,} tenants at one instant,"
        f" in {answer['packets']:,} packets",
        f"  late by       p50 {answer['lateness_p50_seconds']} s, p99 {answer['lateness_p99_seconds']} s;"
        f" the last one ends after {answer['drained_in_seconds']} s",
        f"  throttled     {answer['throttled_share']:.0%} of the tasks",
        f"  workers       {answer['workers_at_once']} at once, {answer['invocations']:,} invocations",
        f"  price         ${answer['dollars']}",
        "  p99 if halved " + ", ".join(f"{name}: {late} s" for name, late in answer["if_halved"].items()),
        f"  to raise      {'; '.join(answer['raise']) or 'nothing alone helps'}",
        f"{payments['a_second']} payments a second: p50 {payments['lateness_p50_seconds']} s,"
        f" p99 {payments['lateness_p99_seconds']} s, {payments['workers_at_once']} workers at once",
    ]
    return "\n".join(lines)


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number
