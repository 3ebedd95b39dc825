"""An interface that steps back, as a process."""

import json
import subprocess
import sys

_SCRIPT = """
import json, os, threading
from tui.priority import step_back
over = threading.Event()
threading.Thread(target=over.wait).start()
step_back()
later = threading.Thread(target=over.wait)
later.start()
tasks = os.listdir("/proc/self/task")
print(json.dumps([os.getpriority(os.PRIO_PROCESS, int(task)) for task in tasks]))
over.set()
"""


def test_every_thread_steps_back_those_to_come_as_well() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [19] * 3
