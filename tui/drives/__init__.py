"""The page Drives: the list, the facts of a drive, and its inspection."""
