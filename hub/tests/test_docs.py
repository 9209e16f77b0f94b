"""Checks that the operators' page names the options as they are."""

from pathlib import Path

import pytest

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.settings import SpawnerSettings

PAGE = Path(__file__).parents[2] / "docs" / "spawner.md"


def _rows() -> list[str]:
    """The table's lines, one for each option, in the order of the source."""
    spawner = RESTSpawner()
    options = SpawnerSettings.class_own_traits(config=True)
    ordered = [name for name in vars(SpawnerSettings) if name in options]
    return [
        f"| `{name}` | {' '.join(options[name].help.split())} | {_shown(getattr(spawner, name))} |" for name in ordered
    ]


def _shown(default: object) -> str:
    return f"`{default}`" if default != "" else ""


@pytest.mark.skipif(not PAGE.exists(), reason="only the repository has the page")
def test_docs_list_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SKYLAB_CONTROLLER_URL", "SKYLAB_HUB_TOKEN", "SKYLAB_HUB_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index("| option | what | default |") + 2
    end = begin + lines[begin:].index("")
    assert lines[begin:end] == _rows(), "copy the rows from here:\n" + "\n".join(_rows())
