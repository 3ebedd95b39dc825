"""File sizes by record sizes by operations."""
