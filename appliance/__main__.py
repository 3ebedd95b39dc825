# SPDX-License-Identifier: Apache-2.0
"""`python3 -m appliance`."""

from appliance.cli import main

raise SystemExit(main())
