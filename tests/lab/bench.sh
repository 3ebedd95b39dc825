# SPDX-License-Identifier: Apache-2.0
# Runs inside the image (tests/lab/bench.py), which sets `rounds` before it. Beside the campaign: the processor time
# of interface and engine as each step ends. Once it is done: the same tools by hand, in the same boot, on the same
# files, with neither interface nor engine. Says KEY VALUE lines.
database=/var/lib/kaltstart/kaltstart.sqlite
terminals=(kaltstart-tui@tty1 kaltstart-tui@ttyS0)
ask() { python3 -c 'import sqlite3, sys
for row in sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]): print(*row)' "$database" "$1"; }
by_hand() { # key, fio's words…: bandwidth and IOPS
  local key=$1; shift
  fio --output=/run/hand.json --output-format=json "$@" 2> /run/hand.err || { say "$key failed $(tail -c 300 /run/hand.err | tr '\n' ' ')"; return; }
  say "$key $(python3 -c 'import json
text = open("/run/hand.json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
side = max((job["read"], job["write"]), key=lambda side: side["io_bytes"])
print(side["bw_bytes"], side["iops"])')"
}
# Nothing is started for it: it would run beside what is measured.
mark() { # key: seconds since the start, the interface's processor time in µs, that of the engine's own process in ticks
  local key=$1 age used interface_us=0 file stat
  read -r age _ < /proc/uptime
  for file in "${usage[@]}"; do
    read -r _ used < "$file"
    interface_us=$((interface_us + used))
  done
  read -r stat < "/proc/$engine/stat"
  # From the third field on; the time of children, as fio is one, is in others (proc_pid_stat(5)).
  read -ra stat <<< "${stat##*) }"
  printf '%s %s %s %s\n' "$key" "$age" "$interface_us" "$((stat[11] + stat[12]))" >> /run/marks
}
usage=()
for terminal in "${terminals[@]}"; do
  # Without a group it would be read of the whole machine.
  until group=$(systemctl show -P ControlGroup "$terminal"); [ -n "$group" ]; do sleep 1; done
  usage+=("/sys/fs/cgroup$group/cpu.stat")
done
engine=$(systemctl show -P MainPID kaltstart-engine)
cat /dev/kmsg | while IFS= read -r line; do
  case $line in
    *"kaltstart: step-done "*)
      step=${line#* step=}
      mark "processor-${step%% *}" ;;
  esac
done &
until [ "$(ask 'SELECT state FROM campaign')" = done ] && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
drive=$(blkid -U "$(ask 'SELECT uuid FROM file_system')")
cp -r "/var/lib/kaltstart/raw/$(ask "SELECT min(id) FROM step WHERE kind = 'fio'")" /run/jobs
kill $!
systemctl stop "${terminals[@]}" kaltstart-engine
while read -r line; do say "$line"; done < /run/marks
blockdev --setrw "$drive"
# Where the steps had it, with the options that they had it with (appliance/drives/file_system.py), mounted for each
# round as for each step: the job files name the file there, which is still what the steps have made of it.
folder=$(sed -n 's,^filename=\(.*\)/.*,\1,p' /run/jobs/seq-read.fio)
mkdir -p "$folder"
attach() { mount -t ext4 -o nosuid,nodev,noexec,noatime,no_prefetch_block_bitmaps "$drive" "$folder"; }
for round in $(seq "$rounds"); do
  attach
  for test in seq-read seq-write rand-read rand-write; do
    by_hand "$test-$round" "/run/jobs/$test.fio"
  done
  umount "$folder"
done
attach
cd "$folder" || exit
files=$(printf 'lottery/%s:' a b c d e f g h i j)
for round in $(seq "$rounds"); do
  by_hand "sequential-$round" --name=hand "--filename=${files%:}" --file_service_type=sequential \
    --readonly --direct=1 --rw=read --bs=1M --ioengine=psync --loops=10
done
for at_once in 1 8; do
  by_hand "surface-$at_once" --name=hand "--filename=$drive" --readonly --direct=1 --rw=read --bs=1M \
    --ioengine=libaio "--iodepth=$at_once" --size=100%
done
say end
# The engine, which reads the power key, is gone.
systemctl poweroff
