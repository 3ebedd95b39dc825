"""The lottery: first touches of files drawn by lot, pass after pass."""
