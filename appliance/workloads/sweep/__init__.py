"""Working sets of several sizes."""
