# SPDX-License-Identifier: Apache-2.0
"""A campaign's drives: found again, owned, worked on in threads, and cleared of what was left."""
