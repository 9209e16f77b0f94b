"""The package as PyPI will have it."""

import importlib.metadata
import zipfile
from pathlib import Path

import jupyterhub_skylab


def test_the_wheel_is_whole(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    assert wheel.name.startswith(f"jupyterhub_skylab-{jupyterhub_skylab.__version__}-py3-none-any")
    assert "jupyterhub_skylab/py.typed" in names
    assert not [name for name in names if "test" in name]
    assert "Requires-Python: >=3.10" in metadata
    assert "Requires-Dist: jupyterhub<7,>=5" in metadata


def test_the_entry_point_is_found(installed: Path) -> None:
    """The Hub of `test_hub.py` uses it by its name alone."""
    (found,) = importlib.metadata.distributions(path=[str(installed)])
    (entry,) = found.entry_points.select(group="jupyterhub.spawners")
    assert (entry.name, entry.load().__name__) == ("skylab", "RESTSpawner")
