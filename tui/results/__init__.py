"""The page Results: figures, reports, raw output, campaigns of other sticks."""
