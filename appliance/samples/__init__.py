# SPDX-License-Identifier: Apache-2.0
"""Output of the kernel and of tools parsed into typed samples. Pure.

Reads no file, starts no process.
"""
