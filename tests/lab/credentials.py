# SPDX-License-Identifier: Apache-2.0
"""What is put into the unmodified image from outside: systemd credentials, handed in by SMBIOS.

A script can run inside (what it says with `say` comes out on the serial line as `lab-agent: …`),
the interface can be left out, and the engine can be held back until the lab gives its order.
"""

import base64
from collections.abc import Mapping

AGENT_PRELUDE = """\
say() { printf '<2>lab-agent: %s\\n' "$*" > /dev/kmsg; }
export PYTHONPATH=/usr/lib/kaltstart:/usr/lib/kaltstart/vendor PYTHONDONTWRITEBYTECODE=1
cd /run
"""
INTERFACE_WANTED = "/run/lab-interface"
"""Where this file is once the engine starts, the interface does so too, despite `NO_INTERFACE`."""

_TERMINALS = ("tty1", "ttyS0")
NO_INTERFACE: Mapping[str, str] = {
    f"systemd.unit-dropin.kaltstart-tui@{terminal}.service": (
        f"[Unit]\nAfter=kaltstart-engine.service\nConditionPathExists={INTERFACE_WANTED}\n"
    )
    for terminal in _TERMINALS
} | {
    # Countdowns wait for an interface that can be read; see service/screen.py.
    "tmpfiles.extra": "f /run/kaltstart/tui/ready 0644 kaltstart-tui kaltstart-tui\n"
}
"""Two interfaces take a fifth of the processor time of a start, and no one looks at them."""

_WANTS_AGENT = {"systemd.unit-dropin.multi-user.target": "[Unit]\nWants=lab-agent.service\n"}
_HOLD = """\
[ -e /run/lab-order ] && exit 0
stty -F /dev/ttyS3 raw -echo
udevadm settle --timeout=60
left() { systemctl list-jobs --no-legend | grep -Evc 'kaltstart-|multi-user|graphical|lab-'; }
until [ "$(left)" = 0 ]
do sleep 1; done
exec 3< /dev/ttyS3
printf '<2>lab-order: awaited\\n' > /dev/kmsg
head -n 1 <&3 | base64 -d > /run/lab-order
printf '<2>lab-order: taken\\n' > /dev/kmsg
exec bash /run/lab-order
"""


def agent_credentials(script: str) -> dict[str, str]:
    """Credentials that run `script` with bash once the engine has started."""
    encoded = base64.b64encode((AGENT_PRELUDE + script).encode()).decode()
    command = f"base64 -d <<< {encoded} > /run/agent; exec bash /run/agent"
    return {"systemd.extra-unit.lab-agent.service": _agent_unit(command)} | _WANTS_AGENT


def hold_credentials() -> dict[str, str]:
    """Credentials that hold the engine back until an order comes on the fourth serial line.

    The order is one line: a bash script in base64. It may leave a script for the agent in
    /run/agent, and have the interface start by making `INTERFACE_WANTED`.
    """
    encoded = base64.b64encode(_HOLD.encode()).decode()
    return {
        **NO_INTERFACE,
        "systemd.unit-dropin.kaltstart-engine.service": (
            "[Service]\nTimeoutStartSec=infinity\nExecStartPre=/bin/bash -c"
            f" 'base64 -d <<< {encoded} > /run/lab-hold; exec bash /run/lab-hold'\n"
        ),
        "systemd.extra-unit.lab-agent.service": _agent_unit(
            "[ -e /run/agent ] || exit 0; exec bash /run/agent"
        ),
        **_WANTS_AGENT,
    }


def _agent_unit(command: str) -> str:
    return (
        "[Unit]\nAfter=kaltstart-engine.service\n[Service]\nType=exec\n"
        f"ExecStart=/bin/bash -c '{command}'\n"
    )
