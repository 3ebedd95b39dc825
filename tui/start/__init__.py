# SPDX-License-Identifier: Apache-2.0
"""The way to a start: release by serial number, then the request."""
