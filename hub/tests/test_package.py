"""The package as PyPI will have it."""

import subprocess
import sys
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
    """By its name alone, as `c.JupyterHub.spawner_class = "skylab"` does it."""
    code = (
        "from jupyterhub.app import JupyterHub\n"
        "from traitlets.config import Config\n"
        "hub = JupyterHub(config=Config({'JupyterHub': {'spawner_class': 'skylab'}}))\n"
        "print(hub.spawner_class.__module__, hub.spawner_class.__name__)\n"
    )
    environment = {"PYTHONPATH": str(installed), "PATH": ""}
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.split() == ["jupyterhub_skylab.spawner", "RESTSpawner"]
