# Runs inside the image (tests/lab/credentials.py): watches drives.json as the interface does.
python3 - <<'PYTHON'
import json, os, subprocess, time

LIST = "/run/kaltstart/drives.json"
STATUS = "/run/kaltstart/status.json"
DRAWN = "/run/kaltstart/tui/ready"


def say(*words):
    with open("/dev/kmsg", "w") as log:
        log.write("<2>lab-agent: " + " ".join(map(str, words)) + "\n")


def read_rows():
    try:
        with open(LIST) as file:
            return [row for row in json.load(file)["drives"] if "LAB-STICK" not in row["serial"]]
    except (OSError, ValueError):
        return []


def wait(condition, seconds=300):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    return None


def find_late():
    return [row for row in read_rows() if row["serial"] == "LAB-LATE"]


def is_idle():
    return os.path.exists(STATUS) and '"phase": "idle"' in open(STATUS).read()


def count_all_asked():
    rows = read_rows()
    return len(rows) if rows and not any(row["answer"] == "asking" for row in rows) else 0


# Plugged while everything answers: QEMU plugs nothing while a request of a drive is left open.
wait(is_idle)
# On a slow machine the interface comes later than the engine.
wait(lambda: os.path.exists(DRAWN))
say("plug-in")
appeared = bool(wait(lambda: any(row["answer"] == "answered" for row in find_late())))
say("plug-out")
disappeared = bool(wait(lambda: read_rows() and not find_late()))
# A drive that does not answer from power-on on blocks the kernel, so one falls silent later.
# Another is plugged in that never answers, not even when the kernel looks for its partitions.
SERVICES = ["kaltstart-engine", "kaltstart-tui@ttyS0", "kaltstart-tui@tty1"]
subprocess.run(["systemctl", "stop", *reversed(SERVICES)])
os.unlink(LIST)
os.unlink(STATUS)
os.unlink(DRAWN)
before = len(os.listdir("/sys/block"))
say("plug-dead")
wait(lambda: len(os.listdir("/sys/block")) > before)
say("stall")
time.sleep(3)
# What was said before this line is not listened to.
say("appeared", appeared)
say("disappeared", disappeared)
begin = time.monotonic()
subprocess.run(["systemctl", "start", *SERVICES])
first = wait(read_rows)
listed = os.stat(LIST).st_mtime
say("first", len(first), sum(row["answer"] == "asking" for row in first))
# A figure for people, on no test's scales: seconds from the list to the interface's first picture.
say("ahead", f"{wait(lambda: os.path.exists(DRAWN) and os.stat(DRAWN).st_mtime) - listed:.1f}")
say("asked", wait(count_all_asked))
say("asked-after", f"{time.monotonic() - begin:.1f}")
now = read_rows()
say("silent", " ".join(row["serial"] for row in now if row["answer"] == "not answering"))
say("answered", sum(row["answer"] == "answered" for row in now))
say("failed", [(row["serial"], row["answer_reason"]) for row in now if row["answer"] == "failed"])
known = [row for row in now if row["answer"] == "answered" and row["details"]]
say("details", sum(bool(row["details"]["sector_format"]) for row in known))
done = subprocess.run(["python3", "-m", "appliance", "drives", "--json"], capture_output=True, text=True)
listed = json.loads(done.stdout)["drives"] if done.returncode == 0 else []
say("command", done.returncode, sum("LAB-STICK" not in row["serial"] for row in listed))
PYTHON
say end
