# SPDX-License-Identifier: Apache-2.0
"""The plan: declared keys, the rules between them, and the rules of the drives at hand."""
