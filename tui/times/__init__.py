"""How long work takes, as this stick has seen it."""
