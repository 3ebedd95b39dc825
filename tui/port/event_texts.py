"""The sentences of the engine's diary."""

from appliance.event_texts import EVENT_TEXTS, tell

__all__ = ["EVENT_TEXTS", "tell"]
