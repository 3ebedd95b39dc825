# SPDX-License-Identifier: Apache-2.0
"""What is done to a whole database: copy, restore, repair, thin, merge, pass on."""
