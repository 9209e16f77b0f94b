"""The package as PyPI will have it."""

import importlib.metadata
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import PROJECT

import jupyterhub_skylab

DOCKERFILE = PROJECT / "examples" / "zero-to-jupyterhub" / "Dockerfile"


def test_wheel_has_all_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    assert wheel.name.startswith(f"jupyterhub_skylab-{jupyterhub_skylab.__version__}-py3-none-any")
    assert "jupyterhub_skylab/py.typed" in names
    assert not [name for name in names if "test" in name]
    assert "Requires-Python: >=3.10" in metadata
    assert "Requires-Dist: jupyterhub<7,>=5" in metadata


@pytest.mark.skipif(not DOCKERFILE.exists(), reason="only the repository has the example")
def test_hub_image_copies_all_sources_of_the_package(tmp_path: Path, wheel: Path) -> None:
    """The image builds in the folder of the package, since nothing is published."""
    for line in DOCKERFILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY "):
            *sources, target = line.split()[1:]
            for source in sources:
                _copy(PROJECT / source, tmp_path / target.lstrip("/") / (source if target.endswith("/") else ""))
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, *build, str(tmp_path / "tmp" / "skylab")], check=True, timeout=120)  # noqa: S603
    (made,) = tmp_path.glob("*.whl")
    assert _content(made) == _content(wheel)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_entry_point_resolves(installed: Path) -> None:
    """The Hub of `test_hub.py` uses it by name only."""
    (found,) = importlib.metadata.distributions(path=[str(installed)])
    (entry,) = found.entry_points.select(group="jupyterhub.spawners")
    assert (entry.name, entry.load().__name__) == ("skylab", "RESTSpawner")
