# SPDX-License-Identifier: Apache-2.0
"""The caches between a program and the platter: each one set, proven, and judged afterwards.

Knows files, devices and memory; must never know a workload, a campaign or the store.
"""
