"""Where the engine and the interface leave word for each other. Loads nothing: a start needs it."""

import os

READY = "tui-ready"
"""A file there, once a person can see the interface and press keys."""


def find_run_folder() -> str:
    """In RAM: empty at each start of the machine."""
    return os.environ.get("KALTSTART_RUN", "/run/kaltstart")


def was_ready() -> bool:
    """Whether an interface has been seen since the machine started."""
    return os.access(f"{find_run_folder()}/{READY}", os.F_OK)
