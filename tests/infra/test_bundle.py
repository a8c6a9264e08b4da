import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from infra.bundle import bundle, bundle_layer, contents


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "functions/__init__.py",
        "functions/api/__init__.py",
        "functions/api/handler.py",
        "functions/api/openapi.json",
        "functions/api/.env",
        "functions/api/.cache/data.py",
        "functions/api/__pycache__/handler.cpython-314.pyc",
        "functions/api/__pycache__/handler.cpython-314.pyc.140234",
        "functions/api/stray.pyc",
        "functions/sweep/handler.py",
        "console/index.html",
        "console/.index.html.swp",
        "functions/README.md",
        "shared/postdate/__init__.py",
        "shared/postdate/domain/task.py",
        "shared/postdate/domain/.DS_Store",
        "shared/postdate.egg-info/PKG-INFO",
        "shared/conftest.py",
        "tests/test_api.py",
        ".env",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_an_asset_holds_its_function_and_the_shared_package_and_nothing_else(project: Path) -> None:
    assert sorted(contents("api", project)) == [
        "console/index.html",
        "functions/__init__.py",
        "functions/api/__init__.py",
        "functions/api/handler.py",
        "functions/api/openapi.json",
        "postdate/__init__.py",
        "postdate/domain/task.py",
    ]


def test_only_the_api_has_the_console(project: Path) -> None:
    assert sorted(contents("sweep", project)) == [
        "functions/__init__.py",
        "functions/sweep/handler.py",
        "postdate/__init__.py",
        "postdate/domain/task.py",
    ]


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    first = bundle("authorize", platform="local", build=tmp_path / "one").read_bytes()
    assert bundle("authorize", platform="local", build=tmp_path / "two").read_bytes() == first


def test_nothing_unfinished_is_left_beside_an_asset(tmp_path: Path) -> None:
    asset = bundle("authorize", platform="local", build=tmp_path)
    assert list(asset.parent.iterdir()) == [asset]


def test_a_layer_is_packed_again_only_when_its_folder_changed(tmp_path: Path) -> None:
    module = tmp_path / "layer" / "python" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("one")
    packed = bundle_layer(tmp_path / "layer")
    made_at = packed.stat().st_mtime_ns
    assert bundle_layer(tmp_path / "layer").stat().st_mtime_ns == made_at

    module.write_text("two")
    os.utime(module, ns=(made_at + 1, made_at + 1))
    with ZipFile(bundle_layer(tmp_path / "layer")) as archive:
        assert archive.read("python/module.py") == b"two"
