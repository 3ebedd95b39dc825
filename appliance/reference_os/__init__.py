"""The operating system that boots from a drive under test, and its session set."""
