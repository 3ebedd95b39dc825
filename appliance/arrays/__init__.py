# SPDX-License-Identifier: Apache-2.0
"""Arrays of two drives: bcache superblocks, control files, assembling and dismantling."""
