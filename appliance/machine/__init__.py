"""The machine: its facts, clock, keyboard, language and serial lines."""
