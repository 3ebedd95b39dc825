"""`python3 -m appliance`."""

from appliance.cli import main

raise SystemExit(main())
