"""The page Machine, and the manual."""
