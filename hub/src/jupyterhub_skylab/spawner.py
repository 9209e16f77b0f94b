"""The spawner (SQR-066, "JupyterHub spawner class")."""

from collections.abc import AsyncIterator
from typing import Any

from .settings import SpawnerSettings


class RESTSpawner(SpawnerSettings):
    """Gives users labs by the REST API of a lab controller."""

    async def start(self) -> str:
        """Creates the lab and waits until it answers. Returns its URL."""
        raise NotImplementedError

    async def stop(self, now: bool = False) -> None:
        """Deletes the lab and waits until it is gone."""
        raise NotImplementedError

    async def poll(self) -> int | None:
        """None: there is a lab, or nobody knows; 0: there is none; 2: it failed. Never raises."""
        raise NotImplementedError

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the events of the latest start or stop, until it has ended."""
        raise NotImplementedError
        yield {}
