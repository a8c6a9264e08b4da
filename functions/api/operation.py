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
    """An operation with its route and its description."""

    # The method, in small letters.
    method: str
    # The path, with its parameters as `{name}`.
    path: str
    # The name in the description of the API; keys may be restricted to some names.
    name: str
    # The line, and the text, of the description.
    summary: str
    text: str
    # The schema of the answer; None if the type that the route returns tells it.
    answer: str | None = None
    # The status of a success.
    status: int = 200
    # The form of the body; None without a body.
    body: type[Form] | None = None
    # False if the body may be left out.
    body_needed: bool = True
    # Examples of the body.
    examples: Mapping[str, Any] | None = None
    # An example of the answer; None if the examples of the resource have one under the name of its schema.
    example: Mapping[str, Any] | None = None
    # The scope that the key needs; None for an operation without a key.
    scope: str | None = None
    # True if the scope of operators opens it as well, for the tenant that the operator names.
    for_operators: bool = False
    # The way in which the key is shown.
    scheme: Literal["key", "internal"] = "key"
    # The names of parameters and of headers of the answer, in `reference.fields`.
    parameters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    # The errors beside those that every operation with a key may answer.
    codes: tuple[str, ...] = ()
    # True if it is served while operators have switched off writes.
    while_read_only: bool = False
    # The function that serves it; None for pages and for the description itself.
    route: Callable[..., Any] | None = None

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of which the key needs one. Empty for an operation without a key."""
        if self.scope is None:
            return ()
        return (self.scope, OPS) if self.for_operators else (self.scope,)

    @property
    def reads(self) -> bool:
        return self.method == "get" or (self.scope or "").endswith(":read")

    @property
    def is_refused_while_read_only(self) -> bool:
        return not (self.reads or self.while_read_only)

    @property
    def answer_types(self) -> tuple[type, ...]:
        """Reads the types of the answer from the route's return annotation: one type, or each member of a union. Empty
        without a route. The description of the API makes a schema for each."""
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

    A route is called with the caller, who has the operation's scope, and with the parameters of the path. So a scope
    that is described is a scope that is asked for. A route with the scope of operators acts for no tenant. A route
    reads if its method is GET or its scope is one for reading. Routes that write are refused while the API is
    read-only, unless they say otherwise.
    """

    def __init__(self, prefix: str) -> None:
        self.router = Router()
        self.operations: list[Operation] = []
        self._prefix = prefix

    def serves(
        self,
        method: Literal["get", "post", "put", "patch", "delete"],
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
        while_read_only: bool = False,
        for_operators: bool = False,
    ) -> Callable[[Route[P, R]], Route[P, R]]:
        def served(route: Route[P, R]) -> Route[P, R]:
            whole = f"{self._prefix}{path}"
            operation = Operation(
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
                for_operators=for_operators,
                parameters=(*_PARAMETER.findall(whole), *parameters),
                headers=headers,
                codes=codes,
                while_read_only=while_read_only,
                route=route,
            )

            def answer(*given: P.args, **named: P.kwargs) -> R:
                # The checks stand in front of every route, so no route can leave one out.
                event = self.router.current_event
                caller = (
                    requests.operator(event) if scope == OPS else requests.caller(event, *operation.scopes)
                )
                caller = caller.performs(name, scope=scope, reads=operation.reads)
                if operation.is_refused_while_read_only:
                    requests.check_writable()
                return route(caller, *given, **named)

            answer.__name__ = name
            self.router.route(whole, method=method.upper())(answer)
            self.operations.append(operation)
            return route

        return served
