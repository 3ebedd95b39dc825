# SPDX-License-Identifier: Apache-2.0
"""The operating system that boots from a drive under test, and its session set."""
