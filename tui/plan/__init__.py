"""The page Plan, and the form that composes a plan."""
