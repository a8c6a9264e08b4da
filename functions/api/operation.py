"""An operation of the API: the route that serves it, and all that its description says of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import (
    Any,
    Concatenate,
    Final,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import Form
from postdate.domain.scopes import OPS

P = ParamSpec("P")
R = TypeVar("R")
Route: TypeAlias = Callable[Concatenate[Caller, P], R]
_PARAMETER: Final = re.compile("<([a-z_]+)>")


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """`codes` are the errors beside those that every operation with a key may answer. `scheme` is how the key is shown.
    `examples` are bodies. `route` serves it; what the route returns is the answer, and `example` is one, unless the
    examples of its resource have one under the name of its schema. Operations without a `route` name the schema of
    their answer.
    """

    method: str
    path: str
    name: str
    summary: str
    text: str
    answer: str | None = None
    status: int = 200
    body: type[Form] | None = None
    body_needed: bool = True
    examples: Mapping[str, Any] | None = None
    example: Mapping[str, Any] | None = None
    scope: str | None = None
    scheme: Literal["key", "internal"] = "key"
    parameters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    route: Callable[..., Any] | None = None

    @property
    def answer_types(self) -> tuple[type, ...]:
        """The types that the route returns, without the status and the headers around them."""
        if self.route is None:
            return ()
        told = get_type_hints(self.route)["return"]
        if get_origin(told) is Response:
            (told,) = get_args(told)
        return tuple(get_args(told)) if isinstance(told, UnionType) else (told,)

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the answers' schemas."""
        named = () if self.answer is None else (self.answer,)
        return named or tuple(each.__name__ for each in self.answer_types)


class Routes:
    """The routes of one resource. `prefix` begins their paths, and `<name>` in a path is a parameter.

    A route is called with whoever calls, who has the operation's scope, and with the parameters of the path. So a scope
    that is described is a scope that is asked for. A route with the scope of operators acts for no tenant. A route
    reads if its method is GET or its scope is one for reading.
    """

    def __init__(self, prefix: str) -> None:
        self.router = Router()
        self.operations: list[Operation] = []
        self._prefix = prefix

    def serves(
        self,
        method: Literal["get", "post", "patch", "delete"],
        path: str,
        *,
        name: str,
        summary: str,
        text: str,
        scope: str,
        codes: tuple[str, ...],
        status: int = 200,
        body: type[Form] | None = None,
        body_needed: bool = True,
        examples: Mapping[str, Any] | None = None,
        example: Mapping[str, Any] | None = None,
        parameters: tuple[str, ...] = (),
        headers: tuple[str, ...] = (),
    ) -> Callable[[Route[P, R]], Route[P, R]]:
        def served(route: Route[P, R]) -> Route[P, R]:
            whole, reads = f"{self._prefix}{path}", method == "get" or scope.endswith(":read")

            def answer(*given: P.args, **named: P.kwargs) -> R:
                event = self.router.current_event
                caller = requests.operator(event) if scope == OPS else requests.caller(event, scope)
                return route(caller.performs(name, scope=scope, reads=reads), *given, **named)

            answer.__name__ = name
            self.router.route(whole, method=method.upper())(answer)
            self.operations.append(
                Operation(
                    method=method,
                    path=_PARAMETER.sub(r"{\1}", whole),
                    name=name,
                    summary=summary,
                    text=text,
                    status=status,
                    body=body,
                    body_needed=body_needed,
                    examples=examples,
                    example=example,
                    scope=scope,
                    parameters=(*_PARAMETER.findall(whole), *parameters),
                    headers=headers,
                    codes=codes,
                    route=route,
                )
            )
            return route

        return served
