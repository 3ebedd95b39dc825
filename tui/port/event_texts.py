"""The sentences of the engine's events."""

from appliance.event_texts import tell

__all__ = ["tell"]
