# SPDX-License-Identifier: Apache-2.0
"""The lab: the real image in QEMU, on drives modelled by nbdkit outside the machine under test."""
