# SPDX-License-Identifier: Apache-2.0
"""Statistics without a subject: quantiles, intervals, ratios, sample sizes. Pure."""
