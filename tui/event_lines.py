"""The lines of the event log in the current language."""

from contextlib import suppress

from tui.engine_words import say_part
from tui.language import _
from tui.port.event_texts import tell
from tui.state import Event


def say_event(event: Event) -> str:
    """A line of the log, made from what is stored of it; where that is not known, in English."""
    detail = event.detail
    if event.fields is not None:
        parts = {
            name: say_part(name, part) if isinstance(part, str) else part
            for name, part in event.fields.items()
        }
        # What another version has stored, or the stick has spoilt.
        with suppress(LookupError, TypeError, ValueError):
            detail = tell(event.what, parts, translate=_)
    if not detail:
        return _(event.what)
    return _("{event} {detail}").format(event=_(event.what), detail=detail)
