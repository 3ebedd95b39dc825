"""From what the kernel and the tools say to typed samples. Pure.

Reads no file, starts no process.
"""
