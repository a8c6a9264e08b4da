"""The schemas of the API's description: of forms, of answers and of problems."""

from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.alias_generators import to_snake
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from functions.api.forms import Form
from functions.api.payments.forms import BatchPaymentForm
from functions.api.reference import fields, problems, shapes
from functions.api.reference.operations import OPERATIONS
from functions.api.tasks.forms import BatchTaskForm

FORMS: Final[tuple[type[Form], ...]] = (
    *(BatchPaymentForm, BatchTaskForm),
    *(each.body for each in OPERATIONS if each.body is not None),
)
SCHEMAS: Final = "#/components/schemas/"


class _Schemas(GenerateJsonSchema):
    """Fields have no titles. An answer of several types is exactly one of them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def union_schema(self, schema: Any) -> dict[str, Any]:
        made = super().union_schema(schema)
        if all("$ref" in each for each in made.get("anyOf", [{}])):
            made["oneOf"] = made.pop("anyOf")
        return made


def forms() -> dict[str, Any]:
    _, generated = models_json_schema(
        [(form, "validation") for form in FORMS],
        ref_template=f"{SCHEMAS}{{model}}",
        schema_generator=_Schemas,
    )
    schemas: dict[str, Any] = generated["$defs"]
    for schema in schemas.values():
        for name, field in schema.get("properties", {}).items():
            if "description" not in field:
                field["description"] = fields.MEANINGS[to_snake(name)]
    schemas["BatchForm"]["properties"]["tasks"]["items"] = ref("BatchTaskForm")
    schemas["AccountBatchForm"]["properties"]["accounts"]["items"] = ref("AccountForm")
    schemas["PaymentBatchForm"]["properties"]["payments"]["items"] = ref("BatchPaymentForm")
    return schemas


def _generated() -> dict[str, Any]:
    """The schemas of the types that routes return, and of those inside them."""
    types = {each: None for operation in OPERATIONS for each in operation.answer_types}
    _, generated = TypeAdapter.json_schemas(
        [(each, "serialization", TypeAdapter(each)) for each in types],
        ref_template=f"{SCHEMAS}{{model}}",
        schema_generator=_Schemas,
    )
    schemas: dict[str, Any] = generated["$defs"]
    for schema in schemas.values():
        del schema["title"]
    return schemas


def answers(codes: list[str]) -> dict[str, Any]:
    return {
        **_generated(),
        "Problem": problems.schema(codes),
        "Health": shapes.every(status={"const": "ok"}),
    }


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"{SCHEMAS}{name}"}
