"""The terminal interface: shows what the engine says and asks it for things. Nothing imports it."""
