"""The tests of the simulation share their process with all others."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("name", TESTS)
def test_no_test_module_takes_the_place_of_the_clock_and_of_aws_in_its_process(name: str) -> None:
    asked = f"import sys, tests.simulation.{name}; print('tests.simulation.inside' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
