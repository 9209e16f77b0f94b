"""The JupyterHub side of a lab controller (SQR-066): labs by REST."""

from .spawner import RESTSpawner

__version__ = "0.2.0"

__all__ = ["RESTSpawner", "__version__"]
