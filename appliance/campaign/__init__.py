# SPDX-License-Identifier: Apache-2.0
"""A campaign from its plan to its report, over as many power-offs as needed."""
