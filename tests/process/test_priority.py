# SPDX-License-Identifier: Apache-2.0
"""An interface that steps back, and comes forward for a key, as a process."""

import json
import subprocess
import sys

_SCRIPT = """
import json, os, sys, threading
from tui.terminal.priority import come_forward, is_forward, listen, step_back, step_back_again
over, listening, key, heard = (threading.Event() for _ in range(4))

def hear():
    listen()
    listening.set()
    key.wait()
    come_forward()
    heard.set()
    over.wait()

def look():
    tasks = os.listdir("/proc/self/task")
    said.append(sorted(os.getpriority(os.PRIO_PROCESS, int(task)) for task in tasks))

def press():
    key.set()
    heard.wait()

said = []
threading.Thread(target=over.wait).start()
listener = threading.Thread(target=hear)
listener.start()
listening.wait()
{steps}
print(json.dumps(said))
over.set()
key.set()
"""


def _say(steps: str) -> list[list[int]]:
    """The nice values of all threads, each time the steps look."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.replace("{steps}", steps)],
        capture_output=True,
        text=True,
        check=True,
    )
    said: list[list[int]] = json.loads(done.stdout)
    return said


def test_every_thread_steps_back_but_who_listens_and_so_do_those_to_come() -> None:
    later = "threading.Thread(target=over.wait).start()"
    assert _say(f"step_back(); {later}; look()") == [[-10, 19, 19, 19]]


def test_a_key_comes_forward_until_it_is_drawn() -> None:
    steps = "step_back(); press(); look(); step_back_again(quiet_s=0); look()"
    assert _say(steps) == [[-10, -10, -10], [-10, 19, 19]]


def test_one_that_came_just_now_is_still_being_answered() -> None:
    steps = "step_back(); press(); step_back_again(quiet_s=3600); look()"
    assert _say(steps) == [[-10, -10, -10]]


def test_before_the_first_page_is_drawn_a_key_leads_to_no_step_back() -> None:
    before, after = _say("look(); press(); step_back_again(quiet_s=0); look()")
    assert after == before


def test_where_it_may_not_come_forward_it_stays_behind() -> None:
    assert _say("step_back(); os.setuid(65534); press(); look()") == [[-10, 19, 19]]
