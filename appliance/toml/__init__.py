"""TOML files: declared keys, every mistake with its line, and text written back."""
