"""The HTTP API of an environment, with a person's own key: the local stack's, or the one that two variables name."""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from cli.client import Client
from cli.failure import NotReady
from cli.local.place import Place
from cli.local.stack import saved

URL: Final = "POSTDATE_URL"
KEY: Final = "POSTDATE_KEY"
TENANT_HEADER: Final = "Postdate-Tenant"


def service_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", help="the tenant that an operator's key acts for")


@contextmanager
def service(options: argparse.Namespace, *, local_key: str = "admin_key") -> Iterator["Service"]:
    """Keys come from variables and never from arguments, which other users of the machine can read.

    `local_key` is the key of the local stack that is used without the variables.
    """
    url, key = os.environ.get(URL), os.environ.get(KEY)
    if url is None or key is None:
        place = Place.of(options.port, os.environ)
        if (stack := saved(place)) is None:
            raise NotReady(f"Set {URL} and {KEY}, or start a local stack with `{place.starts_it}`.")
        url, key = url or stack.api_url, key or str(getattr(stack, local_key))
    with Client(url, key) as client:
        yield Service(client, {TENANT_HEADER: options.tenant} if options.tenant else {})


class Service:
    """Each method raises Failure for any answer but a success."""

    def __init__(self, client: Client, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers

    def get(self, path: str) -> Any:
        return self._client.get(path, **self._headers).expect(200)

    def post(self, path: str, body: object) -> Any:
        return self._client.post(path, body, **self._headers).expect(200, 201, 202)

    def patch(self, path: str, body: object) -> Any:
        return self._client.patch(path, body, **self._headers).expect(200)

    def delete(self, path: str) -> Any:
        return self._client.delete(path, **self._headers).expect(200)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """The answer of any route; a header's name may be written as an identifier."""
        content = None if body is None else json.dumps(body).encode()
        sent = self._client.send(method, path, content, {**self._headers, **headers})
        return sent.expect(200, 201, 202)

    def every(self, path: str, name: str) -> list[Any]:
        """All items of a list."""
        found, cursor = list[Any](), ""
        while True:
            page = self.get(f"{path}?limit=100{cursor}")
            found += page[name]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"
