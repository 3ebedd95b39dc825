# SPDX-License-Identifier: Apache-2.0
"""The machine: its facts, clock, keyboard, language and serial lines."""
