"""A script that runs inside the unmodified image, handed in as a systemd credential.

What it says with `say` comes out on the serial line as `lab-agent: …`.
"""

import base64

from tests.lab.machine import Machine

_PRELUDE = """\
say() { printf '<3>lab-agent: %s\\n' "$*" > /dev/kmsg; }
export PYTHONPATH=/usr/lib/kaltstart:/usr/lib/kaltstart/vendor PYTHONDONTWRITEBYTECODE=1
cd /run
"""


def credentials(script: str) -> dict[str, str]:
    """Credentials that run `script` with bash once the engine has started."""
    encoded = base64.b64encode((_PRELUDE + script).encode()).decode()
    unit = (
        "[Unit]\nAfter=kaltstart-engine.service\n[Service]\nType=exec\n"
        f"ExecStart=/bin/bash -c 'base64 -d <<< {encoded} > /run/agent; exec bash /run/agent'\n"
    )
    return {
        "systemd.extra-unit.lab-agent.service": unit,
        "systemd.unit-dropin.multi-user.target": "[Unit]\nWants=lab-agent.service\n",
    }


def listen(machine: Machine, *, timeout_s: float) -> dict[str, str]:
    """All `KEY VALUE` lines the agent said, up to its `end`."""
    said: dict[str, str] = {}
    while True:
        match = machine.wait_for(r"lab-agent: (\S+) ?([^\r\n]*)[\r\n]", timeout_s=timeout_s)
        if match[1] == "end":
            return said
        said[match[1]] = match[2]
