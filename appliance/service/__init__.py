"""The systemd service on the stick: opens the stick, watches drives, runs campaigns."""
