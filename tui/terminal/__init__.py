"""The terminal: its driver, priorities, repainting, and the messages of the kernel."""
