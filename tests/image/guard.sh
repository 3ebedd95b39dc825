# Runs inside the image (tests/lab/credentials.py) once the campaign is done; @PLANS@ becomes plans that must be refused.
until dmesg | grep -q 'kaltstart: campaign-done' && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
code() { # name, command…
  local name=$1; shift
  local text; text=$("$@" 2>&1); local code=$?
  say "$name $code $(printf %s "$text" | tr '\n' ' ' | head -c 700)"
}
cat > /run/look.py <<'PYTHON'
import json, subprocess, sys
rows = json.loads(subprocess.check_output([sys.executable, "-m", "appliance", "drives", "--json"]))["drives"]
for row in rows:
    print("drive-" + row["serial"], json.dumps([row[key] for key in ("path", "offered", "reason", "holders", "mountpoints", "file_system", "read_only")]))
PYTHON
python3 /run/look.py | while read -r line; do say "$line"; done
say "built $(ls /sys/block | grep -E '^(md|bcache|zd)' | tr '\n' ' ')$(lsblk --noheadings --list --output NAME,TYPE | grep -E ' (lvm|crypt|raid.*|linear|mpath)$' | grep -v '^root ' | tr '\n' ' ')"
say "cmdline $(cat /proc/cmdline)"
say "swaps $(($(wc -l < /proc/swaps) - 1))"
say "unguarded $(for d in /sys/class/block/*/ro; do n=${d%/ro}; n=${n##*/}; case $n in loop*|dm-*|zram*|ram*) continue;; esac; \
  stick=$(readlink -f /dev/disk/by-partlabel/KALTSTART | tr -d 0-9); case /dev/$n in "$stick"*) continue;; esac; blockdev --getro /dev/$n | grep -q 1 || echo -n "$n "; done)"
# A program that wants to write to a read-only drive's partition cannot even open it.
part=$(readlink -f "/dev/disk/by-id/$(ls /dev/disk/by-id | grep 'G-GPT.*-part1$' | head -n 1)")
code partition dd if=/dev/zero of="$part" bs=512 count=1 conv=notrunc,fsync
code disk dd if=/dev/zero of="${part%1}" bs=512 count=1 conv=notrunc,fsync
code mounted mount -o rw "$part" /mnt; umount /mnt 2> /dev/null
# A loop device is in no holders/ of the drive it lies over.
modprobe loop
loop=$(losetup --find --show --read-only "${part%1}")
code looped python3 -c '
import sys
from appliance.drives.probe import find_drives
from appliance.drives.safety import may_offer
from appliance.drives.unlock import check_not_held
from appliance.errors import RefusedError
print([may_offer(drive, stick=None) for drive in find_drives() if drive.path == sys.argv[1]])
try:
    check_not_held(sys.argv[1])
except RefusedError as error:
    print(error)
' "${part%1}"
losetup --detach "$loop"
@PLANS@
cat > /run/swap.py <<'PYTHON'
"""A drive is chosen; another one comes in its place; then it is to be written to."""
import os, sys, time
from pathlib import Path
from appliance.drives.identity_query import ask_identity
from appliance.drives.identity import find_by_identity
from appliance.drives.probe import find_drives, read_serial
from appliance.drives.unlock import unlocked
from appliance.errors import KaltstartError
from appliance.stick.partitions import find_stick

def say(text):
    with open("/dev/kmsg", "w") as log:
        log.write(f"<2>lab-agent: {text}\n")

def read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""

def came(size_bytes):
    """Whether the drive of that size has the chosen one's name.

    It has another one if another program, such as the list of drives, still had the drive open that was
    pulled out: then it is found again, until the name is free.
    """
    for folder in Path("/sys/block").glob("sd*"):
        is_it = read(folder / "size") == str(size_bytes // 512) and read_serial(folder.name) in ("G-SLOT", "G-OTHER")
        if is_it and folder.name == chosen.name:
            return True
        if is_it:
            host = folder.resolve().parents[3].name
            (folder / "device/delete").write_text("1")
            time.sleep(1)
            Path("/sys/class/scsi_host", host, "scan").write_text("- - -")
    return False

drives = find_drives()
stick = find_stick(drives).drive
chosen = find_by_identity(drives, serial="G-SLOT")
noted = ask_identity(chosen)
say(f"chosen {chosen.path} {chosen.size_bytes} {noted.serial if noted else ''}")
for what, size_bytes in (("serial", 96 << 20), ("size", 128 << 20)):
    say(f"ready-{what}")
    give_up = time.monotonic() + 1200
    while not came(size_bytes) and time.monotonic() < give_up:
        time.sleep(0.2)
    os.system("udevadm settle --timeout=600")
    try:
        with unlocked(chosen, stick=stick, released_identity="G-SLOT", noted=noted) as target:
            os.pwrite(target.fd, b"lost", 0)
        say(f"swapped-{what} written")
    except KaltstartError as error:
        say(f"swapped-{what} {type(error).__name__} {error.message}")
    say(f"guarded-{what} {open(f'/sys/block/{chosen.name}/ro').read().strip()}")
PYTHON
python3 /run/swap.py || say "swap-failed $?"
# One that is still at work when the power key is pressed.
base64 -d <<< @LONG@ > /run/long.toml
code started python3 -m appliance run /run/long.toml
until grep -q '"kind": "fio"' /run/kaltstart/status.json; do sleep 0.2; done
say end
