# SPDX-License-Identifier: Apache-2.0
"""Steps: each workload on its drive or array, in order, guarded, recorded, resumed."""
