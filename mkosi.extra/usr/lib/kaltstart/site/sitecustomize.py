# SPDX-License-Identifier: Apache-2.0
"""What Python runs first in engine and interface: their units name this folder, no others do.

Measured boots run from the drive under test, and are to read nothing that they do not need.
"""

import gc

from appliance.bytecode import load_from

gc.disable()  # until appliance.bytecode.collect_garbage
load_from("/usr/lib/kaltstart/bytecode")
