# Runs inside the image (tests/lab/agent.py): watches drives.json as the interface does.
python3 - <<'PYTHON'
import json, os, subprocess, time

LIST = "/run/kaltstart/drives.json"


def say(*words):
    with open("/dev/kmsg", "w") as log:
        log.write("<3>lab-agent: " + " ".join(map(str, words)) + "\n")


def rows():
    try:
        with open(LIST) as file:
            return [row for row in json.load(file)["drives"] if "LAB-STICK" not in row["serial"]]
    except (OSError, ValueError):
        return []


def wait(condition, seconds=200):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return None


def begun(unit):
    """When a service's process began, in seconds since power-on."""
    pid = subprocess.run(["systemctl", "show", "-P", "MainPID", unit], capture_output=True, text=True).stdout.strip()
    with open(f"/proc/{pid}/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


# The machine starts while every drive still answers: one that does not from the first moment on holds up the kernel.
wait(lambda: '"phase": "idle"' in open("/run/kaltstart/status.json").read() if os.path.exists("/run/kaltstart/status.json") else False)
SERVICES = ["kaltstart-engine", "kaltstart-tui@ttyS0", "kaltstart-tui@tty1"]
subprocess.run(["systemctl", "stop", *reversed(SERVICES)])
os.unlink(LIST)
os.unlink("/run/kaltstart/status.json")
say("stall")
time.sleep(3)
subprocess.run(["systemctl", "start", *SERVICES])
first = wait(lambda: os.path.exists(LIST) and time.clock_gettime(time.CLOCK_BOOTTIME))
early = os.stat(LIST)
written = first - max(0, time.time() - early.st_mtime)
say("first", len(rows()), f"{first:.2f}")
wait(lambda: subprocess.run(["systemctl", "is-active", "kaltstart-tui@ttyS0"], capture_output=True).returncode == 0)
say("listed", f"{max(0.0, written - begun('kaltstart-tui@ttyS0.service')):.2f}")
wait(lambda: rows() and not any(row["answer"] == "asking" for row in rows()))
say("asked", f"{time.clock_gettime(time.CLOCK_BOOTTIME):.2f}")
now = rows()
say("drives", len(now))
say("silent", " ".join(row["serial"] for row in now if row["answer"] == "not answering"))
say("answered", sum(row["answer"] == "answered" for row in now))
say("failed", [(row["serial"], row["answer_reason"]) for row in now if row["answer"] == "failed"])
say("details", sum(bool(row["details"] and row["details"]["sector_format"]) and row["answer"] == "answered" for row in now))
begin = time.monotonic()
done = subprocess.run(["python3", "-m", "appliance", "drives", "--json"], capture_output=True, text=True)
listed = json.loads(done.stdout)["drives"] if done.returncode == 0 else []
say("command", done.returncode, sum("LAB-STICK" not in row["serial"] for row in listed), f"{time.monotonic() - begin:.1f}")
disks = set(os.listdir("/sys/block"))
say("plug-in")
wait(lambda: set(os.listdir("/sys/block")) - disks)
begin = time.monotonic()
wait(lambda: any(row["serial"] == "LAB-LATE" for row in rows()))
appeared = time.monotonic() - begin
wait(lambda: any(row["serial"] == "LAB-LATE" and row["answer"] == "answered" for row in rows()))
say("late", f"{time.monotonic() - begin:.1f}")
say("plug-out")
wait(lambda: not set(os.listdir("/sys/block")) - disks)
begin = time.monotonic()
wait(lambda: not any(row["serial"] == "LAB-LATE" for row in rows()))
say("appeared", f"{appeared:.2f}")
say("disappeared", f"{time.monotonic() - begin:.2f}")
PYTHON
say end
