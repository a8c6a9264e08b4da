"""A function takes at most eight values: nobody keeps more in mind at a call. Values that travel together are one."""

import ast
from pathlib import Path

MOST = 8
# A declaration that names its parts: one call for each route.
DECLARATIONS = {("functions/api/operation.py", "serves")}


def taken(function: ast.FunctionDef) -> int:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_function_takes_nine_values():
    functions = [
        (path.as_posix(), node)
        for root in ("functions", "shared")
        for path in Path(root).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(functions) > 1500
    many = {(path, node.name) for path, node in functions if taken(node) > MOST}
    assert many == DECLARATIONS
