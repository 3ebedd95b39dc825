# SPDX-License-Identifier: Apache-2.0
"""The verdict on a drive: evidence gathered from the store, limits of the policy, and the judge."""
