"""Forecast the lateness of a load in an environment, from AWS's documented limits."""

import argparse
from typing import Any

from infra.capacity import forecast
from infra.capacity.advice import advice
from infra.capacity.limits import LIMITS
from infra.capacity.rates import rates
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--env", default="prod", choices=("dev", "staging", "prod"), help="the environment (prod)"
    )
    parser.add_argument(
        "--due", type=_number, default=500_000, help="tasks that are due in one minute (500000)"
    )
    parser.add_argument(
        "--over", type=_seconds, default=60, help="seconds over which they are spread; 0: one instant (60)"
    )
    parser.add_argument("--tenants", type=_number, help="tenants that share the tasks (one for each task)")
    parser.add_argument(
        "--largest", type=_share, default=0.0, help="the share of the tasks that the largest tenant has (0)"
    )
    parser.add_argument(
        "--payments", type=_number, default=350, help="payments a second in the busiest hour (350)"
    )
    parser.add_argument(
        "--day", type=_number, default=10_000_000, help="payments of the whole day (10000000)"
    )
    parser.add_argument(
        "--as-new", action="store_true", help="with tables as AWS makes them, without warm throughput"
    )
    parser.add_argument(
        "--halved", action="store_true", help="also with each limit of AWS halved; takes a minute"
    )
    parser.add_argument(
        "--apply", action="store_true", help="print what to change and to ask for; change nothing"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    if options.as_new:
        environment = forecast.as_new(environment)
    tenants = options.tenants or options.due
    found = forecast.tasks(
        environment, due=options.due, tenants=tenants, over=options.over, largest=options.largest
    )
    found |= advice(environment, found)
    found["payments"] = forecast.payments(environment, rate=options.payments)
    found["day"] = forecast.day(environment, payments=options.day, peak=options.payments)
    found["rates"] = rates(environment, payments=options.day, peak=options.payments)
    if options.halved:
        found["if_halved"] = forecast.halved(environment, due=options.due, tenants=tenants, over=options.over)
    return found | {"apply": options.apply}


def show(answer: dict[str, Any]) -> str:
    payments, day = answer["payments"], answer["day"]
    lines = [
        f"{answer['environment']}: {answer['due']:,} tasks of {answer['tenants']:,} tenants over"
        f" {answer['over_seconds']:g} s, in {answer['packets']:,} packets",
        f"  sent          within {answer['sent_within_seconds']} of the {answer['sent_ahead_seconds']} s ahead",
        f"  late by       p50 {answer['lateness_p50_seconds']} s, p95 {answer['lateness_p95_seconds']} s,"
        f" p99 {answer['lateness_p99_seconds']} s; the last one ends after {answer['drained_in_seconds']} s",
        f"  throttled     {answer['throttled_tries']:,} tries",
        f"  workers       {answer['workers_at_once']} at once, {answer['invocations']:,} invocations",
        f"  price         ${answer['dollars']}",
        *_reached(answer),
        *(f"  raise         {_told(each)}" for each in answer["raise"]),
        *([f"  then          p99 {answer['raised_p99_seconds']} s"] if answer["raise"] else []),
        *_halved(answer.get("if_halved")),
        f"{payments['a_second']} payments a second: p50 {payments['lateness_p50_seconds']} s,"
        f" p99 {payments['lateness_p99_seconds']} s, {payments['workers_at_once']} workers at once,"
        f" ${payments['wait_dollars_a_million']} a million for Lambda and SQS;"
        f" p99 {payments['from_nothing_p99_seconds']} s if no worker runs before",
        f"{day['payments']:,} payments a day: p99 {day['lateness_p99_seconds']} s,"
        f" {day['worker_hours']:,} hours of workers",
        *(_rate(each) for each in answer["rates"]["lines"]),
    ]
    return "\n".join([*lines, *_applied(answer)] if answer["apply"] else lines)


def _reached(answer: dict[str, Any]) -> list[str]:
    return [
        f"  {'breaks first' if place == 0 else 'then':<13} {each['limit']}, from {each['first_at_seconds']} s on:"
        f" {each['seconds_an_item']} s an item"
        for place, each in enumerate(answer["reached"])
    ]


def _told(each: dict[str, str]) -> str:
    asks = f" (quota {each['quota']})" if each["quota"] else ""
    return f"{each['setting']} from {each['now']} to {each['then']}{asks}"


def _halved(found: dict[str, float] | None) -> list[str]:
    if found is None:
        return []
    told = [f"  p99 if halved {name}, {LIMITS[name].unit}: {late} s" for name, late in found.items()]
    return told or ["  p99 if halved no limit changes it"]


def _rate(each: dict[str, Any]) -> str:
    return f"  {each['name']:<42} {each['need']:>12,} of {each['has']:>12,} {each['unit']}"


def _applied(answer: dict[str, Any]) -> list[str]:
    asked = [each["request"] for each in answer["raise"] if each["request"]]
    edits = [f"# infra/environments.py, {answer['environment']}: {_told(each)}" for each in answer["raise"]]
    return ["", *(asked + edits or ["# nothing to raise"])]


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 60:
        raise argparse.ArgumentTypeError("seconds from 0 to 60")
    return seconds


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError("a share from 0 to 1")
    return share
