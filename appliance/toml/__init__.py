# SPDX-License-Identifier: Apache-2.0
"""TOML files: declared keys, every mistake with its line, and text written back."""
