# Runs inside the image (tests/lab/credentials.py); @PLANS@ becomes the checks of single plans.
until [ -e /run/kaltstart/status.json ] && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
code() { # name, command…
  local name=$1; shift
  local text; text=$("$@" 2>&1); local code=$?
  say "$name $code $(printf %s "$text" | tr '\n' ' ' | head -c 700)"
}
@PLANS@
code drives python3 -m appliance drives --json
say "protected $(python3 -m appliance drives --json | python3 -c 'import json, sys
for row in json.load(sys.stdin)["drives"]:
    if row["write_protected"]: print(row["serial"], *row["details"]["findings"])')"
python3 -m appliance drives > /run/drives.txt; say "listing $(grep -c -P '[\x00-\x08\x0b-\x1f\x7f]' /run/drives.txt)"
say "unguarded $(for d in /sys/block/*; do n=${d##*/}; case $n in loop*|dm-*) continue;; esac; \
  [ "$(cat $d/ro)" = 1 ] || [ "$(readlink -f /dev/disk/by-partlabel/KALTSTART | tr -d 0-9)" = "/dev/$n" ] || echo -n "$n "; done)"
say "ports $(cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null | grep -vc local_address)"
say "links $(ls /sys/class/net | grep -vc '^lo$')"
say "passwords $(cut -d: -f2 /etc/shadow | grep -vc '^[!*]')"
say "failed $(systemctl list-units --failed --plain --no-legend | wc -l)"
# A bug of the interface is in the journal: the screen it would be on is drawn again.
mkdir -p /run/broken /run/systemd/system/kaltstart-tui@tty1.service.d
echo 'raise RuntimeError("a bug on purpose")' > /run/broken/textual.py
printf '[Service]\nEnvironment=PYTHONPATH=/run/broken:%s\n' "$PYTHONPATH" > /run/systemd/system/kaltstart-tui@tty1.service.d/broken.conf
touch /run/lab-interface; systemctl daemon-reload; systemctl restart kaltstart-tui@tty1
for _ in $(seq 900); do journalctl -q -o cat -t kaltstart-tui | grep -q 'on purpose' && break; sleep 1; done
say "bug $(journalctl -q -o cat -t kaltstart-tui | grep -e '^Traceback' -e '^RuntimeError' | head -2 | tr '\n' ' ')"
rm -r /run/systemd/system/kaltstart-tui@tty1.service.d; rm /run/lab-interface; systemctl daemon-reload; systemctl stop kaltstart-tui@tty1
trouble() { systemctl reset-failed kaltstart-engine; rm -f /run/kaltstart/status.json; systemctl restart kaltstart-engine
  until grep -q '"phase": "\(idle\|refused\)"' /run/kaltstart/status.json 2>/dev/null; do sleep 0.5; done
  say "$1 $(python3 -c 'import json; e=json.load(open("/run/kaltstart/status.json"))["error"]; print(e and e["exit_code"], e and e["message"])')"
  systemctl stop kaltstart-engine; }
systemctl stop kaltstart-engine
fallocate -l "$(($(stat -f -c '%a * %S' /var/lib/kaltstart) - (1 << 20)))" /var/lib/kaltstart/ballast; trouble full; rm /var/lib/kaltstart/ballast
mount -o remount,ro /var/lib/kaltstart; trouble read-only; mount -o remount,rw /var/lib/kaltstart
cp /var/lib/kaltstart/kaltstart.sqlite /run/keep
python3 -c 'import sqlite3; c=sqlite3.connect("/var/lib/kaltstart/kaltstart.sqlite"); c.execute("CREATE TABLE of_a_later_version (x INTEGER) STRICT"); c.execute("PRAGMA user_version = 99"); c.commit()'
trouble newer; cp /run/keep /var/lib/kaltstart/kaltstart.sqlite; trouble repaired
say end
