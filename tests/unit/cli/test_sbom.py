"""The bill of materials names each locked dependency of the functions, with a hash and a licence."""

import re

from cli.sbom import LOCKED, licence_of, sbom

# Licences that a closed product may use. A new one is a decision.
ALLOWED = re.compile(r"MIT|Apache|BSD|PSF|Python Software Foundation|MPL", re.IGNORECASE)


def test_each_locked_dependency_is_listed_with_its_hashes():
    locked = re.findall(r"^([A-Za-z0-9._-]+)==", LOCKED.read_text(), re.MULTILINE)
    components = sbom()["components"]
    assert [each["name"] for each in components] == [name.lower() for name in locked]
    assert len(components) >= 10
    for each in components:
        assert each["hashes"], each["name"]
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"


def test_each_licence_is_known_and_permissive():
    refused = {
        each["name"]: name
        for each in sbom()["components"]
        if not ALLOWED.search(name := each["licenses"][0]["license"]["name"])
    }
    assert refused == {}


def test_a_package_that_is_not_installed_has_an_unknown_licence(tmp_path):
    assert licence_of("no-such-package") == "unknown"
    locked = tmp_path / "locked.txt"
    locked.write_text(f"no-such-package==1 \\\n    --hash=sha256:{'0' * 64}\n")
    (component,) = sbom(locked)["components"]
    assert component["licenses"] == [{"license": {"name": "unknown"}}]
