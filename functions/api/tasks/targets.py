"""The forms and answers of destinations, one pair a kind, made from what the kind says of itself."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias, Union

from pydantic import ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from typing_extensions import TypedDict

from functions.api.forms import Form
from functions.api.texts import SEEN
from postdate.domain.task import Destination
from postdate.targets.kind import Member, Shape, TargetKind
from postdate.targets.registry import KINDS

_SHAPES: Final[Mapping[Shape, Any]] = {
    Shape.TEXT: str,
    Shape.NAME: Annotated[str, Field(min_length=1, max_length=128), SEEN],
    Shape.PAIRS: dict[str, str],
}
_PAIRS_SHOWN: Final[JsonDict] = {
    "additionalProperties": {"type": "string", "pattern": r"^([A-Za-z0-9_-]{20}|\*\*\*)$"}
}
_SHOWN: Final[Mapping[Shape, Any]] = {
    Shape.TEXT: str,
    Shape.NAME: str,
    Shape.PAIRS: Annotated[
        dict[str, str],
        Field(
            json_schema_extra=_PAIRS_SHOWN,
            description="Keyed hashes of the values: equal values of a header have equal hashes. `***` for a row of "
            "an older release.",
        ),
    ],
}


class TargetBase(Form):
    """A destination as a request writes it."""

    kind: ClassVar[TargetKind]

    def destination(self) -> Destination:
        return self.kind.destination(
            {member.name: getattr(self, member.name) for member in self.kind.members}
        )


def _form(kind: TargetKind) -> type[TargetBase]:
    fields: dict[str, Any] = {"type": (Literal[kind.name], ...)}
    fields |= {member.name: _field(member) for member in kind.members}
    form = create_model(f"{kind.title}Form", __base__=TargetBase, **fields)
    form.kind = kind
    return form


def _field(member: Member) -> tuple[Any, Any]:
    if member.words:
        return Literal[member.words], member.words[0]
    return _SHAPES[member.shape], Field({}) if member.shape is Shape.PAIRS else ...


FORMS: Final[Mapping[str, type[TargetBase]]] = {name: _form(kind) for name, kind in KINDS.items()}


def _in_camel_case(form: type[TargetBase]) -> type[TargetBase]:
    """The form as a request to the job API writes it. It is a subclass, so that fingerprints are the same."""
    return type(f"Job{form.__name__}", (form,), {"model_config": ConfigDict(alias_generator=to_camel)})


CAMEL_FORMS: Final[Mapping[str, type[TargetBase]]] = {
    name: _in_camel_case(form) for name, form in FORMS.items()
}


def _answer(kind: TargetKind, title: str, named: Callable[[str], str] = str) -> Any:
    fields = {"type": Literal[kind.name]} | {
        named(member.name): _SHOWN[member.shape] for member in kind.members
    }
    return TypedDict(title, fields)  # type: ignore[operator]


if TYPE_CHECKING:
    TargetForm: TypeAlias = TargetBase
    CamelTargetForm: TypeAlias = TargetBase
    Target: TypeAlias = Mapping[str, Any]
    CamelTarget: TypeAlias = Mapping[str, Any]
else:
    TargetForm = Annotated[Union[tuple(FORMS.values())], Field(discriminator="type")]  # noqa: UP007
    CamelTargetForm = Annotated[
        Union[tuple(CAMEL_FORMS.values())],  # noqa: UP007
        Field(discriminator="type"),
    ]
    Target = Union[tuple(_answer(kind, f"{kind.title}Target") for kind in KINDS.values())]  # noqa: UP007
    CamelTarget = Union[  # noqa: UP007
        tuple(_answer(kind, f"Job{kind.title}Target", to_camel) for kind in KINDS.values())
    ]


def view(destination: Destination) -> Target:
    """A destination as its owner sees it. If a newer release stored its kind, the answer has only the type."""
    kind = KINDS.get(destination.type)
    return {"type": destination.type} if kind is None else kind.view(destination)
