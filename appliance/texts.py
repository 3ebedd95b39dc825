"""Texts of the engine that the interface shows in its own language."""


def N_(text: str) -> str:  # noqa: N802  # what gettext calls it
    """`text`, marked for the catalogue of the interface, which translates it where it is drawn."""
    return text
