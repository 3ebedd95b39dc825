"""The sentences of the engine's diary."""

from appliance.event_texts import tell

__all__ = ["tell"]
