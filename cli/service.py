"""The HTTP API of an environment with a person's own key: of a profile, of two variables, or of the local stack."""

import argparse
import http.client
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from cli import profiles
from cli.asking import sure
from cli.client import Answer, Client
from cli.failure import DryRun, Failure, NotReady
from cli.local.place import Place
from cli.local.stack import saved
from cli.profiles import CHOSEN, LOCAL, Profile

URL: Final = "POSTDATE_URL"
KEY: Final = "POSTDATE_KEY"
TENANT_HEADER: Final = "Postdate-Tenant"
# Advice for refusals whose detail does not say what to do.
ADVICE: Final = {
    "unauthenticated": f"Check {KEY}, or the profile: postdate profile list",
    "forbidden": "The scopes of this key: postdate call whoami. An administrator makes another: postdate keys make. "
    "Routes of operators need an operator's key: --profile local, or postdate operator --env <env>",
    "not_found": "Check the id, and the tenant of this key: postdate call whoami",
    "version_conflict": "It was changed meanwhile. Look at it again, and repeat the change.",
    "invalid_state": "What its state allows: postdate explain <id>",
    "insufficient_funds": "What is available: postdate call getAccount account_id=<id>",
    "idempotency_key_reused": "Another request needs another --idempotency-key.",
    "quota_exceeded": "The quotas and their use: postdate call getLimits",
    "destination_not_allowed": "An operator allows a destination: postdate tenants change",
    "books_disagree": "What disagrees: postdate call audit",
}


def service_arguments(
    parser: argparse.ArgumentParser, *, tenant: str = "the tenant that an operator's key acts for"
) -> None:
    parser.add_argument("--tenant", help=tenant)
    parser.add_argument("--profile", metavar="NAME", help="the service to speak to: postdate profile list")


def change_arguments(parser: argparse.ArgumentParser) -> None:
    service_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the change as curl, and send nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before the change")


@contextmanager
def service(options: argparse.Namespace, *, local_key: str = "admin_key") -> Iterator["Service"]:
    """Yields the API that the options, the variables or the profile name.

    Keys come from variables or profiles and never from arguments, which other users of the machine can read.
    `local_key` is the name of the local stack's key, for use when neither names an API.
    """
    chosen = _profile(options, local_key)
    tenant = options.tenant or chosen.tenant
    with Client(chosen.url, chosen.key) as client:
        yield Service(
            client,
            {TENANT_HEADER: tenant} if tenant else {},
            url=chosen.url,
            dry_run=getattr(options, "dry_run", False),
            yes=getattr(options, "yes", False),
        )


def address(options: argparse.Namespace) -> str:
    """The address of the API that the options, the variable or the profile name; a key is not needed."""
    if options.profile is None and (url := os.environ.get(URL)):
        return url.rstrip("/")
    return _profile(options, "api_key").url.rstrip("/")


def is_local(options: argparse.Namespace) -> bool:
    """True if the options, the variable or the profile in use name the local stack."""
    name = _named(options)
    return name == LOCAL or (name is None and URL not in os.environ)


def _named(options: argparse.Namespace) -> str | None:
    """The profile of the options; else, without the two variables, the profile in use."""
    name: str | None = getattr(options, "profile", None)
    if name is None and not (os.environ.get(URL) and os.environ.get(KEY)):
        return os.environ.get(CHOSEN) or profiles.read().current
    return name


def _profile(options: argparse.Namespace, local_key: str) -> Profile:
    name, url, key = _named(options), os.environ.get(URL), os.environ.get(KEY)
    if name is not None and name != LOCAL:
        return profiles.read().named(name)
    if name is None and url and key:
        return Profile(url=url, key=key)
    place = Place.of(options.port, os.environ)
    if (stack := saved(place)) is None:
        raise NotReady(
            f"Set {URL} and {KEY}, choose a profile (postdate profile add), or start a local stack with "
            f"`{place.starts_it}`."
        )
    local = Profile(url=stack.api_url, key=str(getattr(stack, local_key)))
    return local if name == LOCAL else Profile(url=url or local.url, key=key or local.key)


class Service:
    """Each method raises Failure for any answer but a success. In a dry run the first change raises DryRun instead."""

    def __init__(
        self, client: Client, headers: dict[str, str], *, url: str, dry_run: bool = False, yes: bool = False
    ) -> None:
        self._client = client
        self._headers = headers
        self._url = url
        self._dry_run = dry_run
        self._yes = yes

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def post(self, path: str, body: object) -> Any:
        return self.send("POST", path, body)

    def patch(self, path: str, body: object) -> Any:
        return self.send("PATCH", path, body)

    def put(self, path: str, body: object) -> Any:
        return self.send("PUT", path, body)

    def delete(self, path: str) -> Any:
        return self.send("DELETE", path)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """The answer of any route; a header's name may be written as an identifier."""
        if self._dry_run and method != "GET":
            raise DryRun(self.curl(method, path, body, headers))
        content = None if body is None else json.dumps(body).encode()
        try:
            answer = self._client.send(method, path, content, {**self._headers, **headers})
        except (OSError, http.client.HTTPException) as error:
            raise NotReady(
                f"{self._url} does not answer: {error}. Check the address, or start a local stack: make up"
            ) from error
        if answer.status not in (200, 201, 202):
            raise Failure(_refusal(answer))
        return answer.body

    def sure(self, question: str) -> None:
        """Asks before a change that cannot be taken back. A program has no terminal and is not asked."""
        if not self._dry_run:
            sure(question, yes=self._yes)

    def curl(self, method: str, path: str, body: object, headers: dict[str, str]) -> str:
        """The request as a command; address and key are variables of the reader's shell."""
        words = ["curl", "-X", method, f"${URL}{path}"]
        for name, value in {"Authorization": f"Bearer ${KEY}", **self._headers, **headers}.items():
            words += ["-H", f"{name}: {value}"]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        return " ".join(_quoted(word) for word in words)

    def every(self, path: str, name: str) -> list[Any]:
        """All items of a list."""
        found, cursor = list[Any](), ""
        while True:
            page = self.get(f"{path}?limit=100{cursor}")
            found += page[name]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"


def _refusal(answer: Answer) -> str:
    """Detail, fields, advice and request id of a problem; the whole answer of anything else."""
    told = answer.body
    if not isinstance(told, dict) or "code" not in told:
        return f"The API answered {answer.status}: {told}"
    lines = [f"The API refused it: {told.get('detail') or told['code']} ({answer.status} {told['code']})"]
    lines += [f"  {each['field']}: {each['message']}" for each in told.get("errors", ())]
    again = answer.headers.get("retry-after")
    advice = f"Try again in {again} s." if again else ADVICE.get(told["code"])
    lines += [advice] if advice else []
    lines += [f"Request {told['request_id']}"] if told.get("request_id") else []
    return "\n".join(lines)


def _quoted(word: str) -> str:
    """The two variables stay variables of the reader's shell."""
    return f'"{word}"' if word.startswith((f"${URL}", f"Authorization: Bearer ${KEY}")) else shlex.quote(word)
