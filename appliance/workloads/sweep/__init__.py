# SPDX-License-Identifier: Apache-2.0
"""Working sets of several sizes."""
