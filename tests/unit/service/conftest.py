# SPDX-License-Identifier: Apache-2.0
"""The service runs campaigns: the same machine that is not there."""

from tests.unit.campaign.conftest import attentive, booted, no_paths_of_this_machine, world

__all__ = ["attentive", "booted", "no_paths_of_this_machine", "world"]
