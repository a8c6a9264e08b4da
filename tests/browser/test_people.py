"""People in the console: they sign in with a token of a real issuer, and the session ends with the token."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests import issuer
from tests.browser.conftest import Console
from tests.e2e.conftest import RunningStack
from tests.issuer import Pool

FUNCTIONS: Final = ("postdate-local-api", "postdate-local-authorize")
# The API accepts a token for 30 s after its end, because clocks differ; the page asks again after 5 s.
TOKEN_SECONDS: Final = 5
ENDS_WITHIN_MS: Final = 90_000


def set_to(functions: Any, setting: str) -> None:
    """Lets both functions that know people read this setting."""
    for name in FUNCTIONS:
        variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        functions.update_function_configuration(
            FunctionName=name, Environment={"Variables": variables | {"OIDC": setting}}
        )
        functions.get_waiter("function_updated_v2").wait(FunctionName=name)


@pytest.fixture(scope="module")
def pools(stack: RunningStack) -> Iterator[dict[str, Pool]]:
    """Pools of the local stack, with short tokens and with long ones; `set_to` says which one counts."""
    cognito, functions = stack.aws("cognito-idp"), stack.aws("lambda")
    yield {"short": issuer.made(cognito, seconds=TOKEN_SECONDS), "long": issuer.made(cognito)}
    set_to(functions, "none")


def test_a_person_signs_in_with_a_token_and_has_its_rights(
    console: Console, stack: RunningStack, pools: dict[str, Pool]
) -> None:
    set_to(stack.aws("lambda"), pools["long"].setting())
    token = pools["long"].signed_in("ada", "demo", "tasks:read")
    page = console.open(token, "tasks")
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
    expect(page.locator(".who")).to_contain_text("demo · oidc-")
    expect(page.get_by_role("link", name="Payments", exact=True)).to_have_count(0)
    assert page.evaluate("localStorage.length") == 0
    assert token not in page.content()
    page.reload()
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
    elsewhere = page.context.new_page()
    elsewhere.goto(stack.console_url)
    expect(elsewhere.get_by_label("API key or token")).to_be_visible()


def test_an_operator_signs_in_with_a_token_and_names_the_tenant(
    console: Console, stack: RunningStack, pools: dict[str, Pool]
) -> None:
    set_to(stack.aws("lambda"), pools["long"].setting())
    page = console.open(pools["long"].signed_in("op", None, "ops"), "switches", tenant="demo")
    expect(page.get_by_role("table", name="Switches")).to_contain_text("settlement")


def test_the_session_ends_with_the_token_and_says_so(
    console: Console, stack: RunningStack, pools: dict[str, Pool]
) -> None:
    """The page that is open asks for nothing by itself: the end of the token is what ends the session."""
    set_to(stack.aws("lambda"), pools["short"].setting())
    page = console.open(pools["short"].signed_in("eve", "demo", "tasks:read"), "new?kind=task")
    expect(page.get_by_role("button", name="Register")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The session ended", timeout=ENDS_WITHIN_MS)
    expect(page.get_by_label("API key or token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_token_of_another_issuer_is_refused(
    console: Console, stack: RunningStack, pools: dict[str, Pool]
) -> None:
    set_to(stack.aws("lambda"), pools["long"].setting())
    page = console.page
    page.goto(stack.console_url)
    page.get_by_label("API key or token").fill(pools["short"].signed_in("mallory", "demo", "tasks:read"))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The request failed")
    assert page.evaluate("sessionStorage.length") == 0
