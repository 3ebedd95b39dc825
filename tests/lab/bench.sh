# SPDX-License-Identifier: Apache-2.0
# Runs inside the image (tests/lab/bench.py), which sets `rounds`, `window_s`, `serial`, `first_watched` and
# `last_watched` before it. Beside the campaign: the processor time of interface and engine as each step ends; and in
# the steps that are watched, what the drive serves, window by window, with interface and engine at work, with the
# interfaces held, and with both held. Once it is done: other tools by hand, in the same boot, on the same files, with
# neither of the two. Says KEY VALUE lines.
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
groups=()
usage=()
for terminal in "${terminals[@]}"; do
  # Without a group it would be read of the whole machine.
  until group=$(systemctl show -P ControlGroup "$terminal"); [ -n "$group" ]; do sleep 1; done
  groups+=("/sys/fs/cgroup$group")
  usage+=("/sys/fs/cgroup$group/cpu.stat")
done
engine=$(systemctl show -P MainPID kaltstart-engine)
hold() { # none, interfaces or all: what does nothing until the next call
  local group frozen=1
  if [ "$1" = none ]; then frozen=0; fi
  for group in "${groups[@]}"; do printf %s "$frozen" > "$group/cgroup.freeze"; done
  # Not its whole group: fio is in it.
  if [ "$1" = all ]; then kill -STOP "$engine"; else kill -CONT "$engine"; fi
}
find_fio() { # sets `fio`: the process of fio that runs, or nothing
  local folder name
  fio=
  for folder in /proc/[0-9]*; do
    { read -r name < "$folder/comm"; } 2> /dev/null || continue
    if [ "$name" = fio ]; then fio=${folder#/proc/}; return; fi
  done
}
is_fio() { # whether this process is still one of fio's
  local name=
  { read -r name < "/proc/$1/comm"; } 2> /dev/null
  [ "$name" = fio ]
}
count() { # sets `at_us` and `sectors`: what the drive has served by now
  local stat
  read -ra stat < "/sys/class/block/$device/stat"
  at_us=${EPOCHREALTIME/./}
  sectors=$((stat[2] + stat[6]))
}
# Each window in which something is held lies between two in which nothing is, so that what changes steadily is taken
# out; each of fio's processes begins with a window of these. Starts no program.
watch_windows() {
  local device held first_us first number=0
  device=$(basename "$(readlink -f /dev/disk/by-id/ata-*"$serial")")
  trap 'hold none; exit' TERM
  exec {never}<> <(:)
  while true; do
    hold none
    find_fio
    if [ -z "$fio" ]; then
      read -rt 1 -u "$never"
      continue
    fi
    while is_fio "$fio"; do
      for held in none all none interfaces; do
        hold "$held"
        # All that is not held is on its way again before it is counted.
        read -rt 1 -u "$never"
        count
        first_us=$at_us first=$sectors
        read -rt "$window_s" -u "$never"
        count
        is_fio "$fio" || break 2
        number=$((number + 1))
        printf 'window-%s %s %s %s %s\n' "$number" "$fio" "$held" $((at_us - first_us)) $(((sectors - first) * 512)) >> /run/windows
      done
    done
  done
}
cat /dev/kmsg | while IFS= read -r line; do
  case $line in
    *"kaltstart: step-done "* | *"kaltstart: step-failed "*)
      step=${line#* step=}
      step=${step%% *}
      mark "processor-$step"
      if [ "$step" = $((first_watched - 1)) ]; then watch_windows & watcher=$!; fi
      if [ "$step" = "$last_watched" ]; then kill "$watcher"; fi ;;
  esac
done &
until [ "$(ask 'SELECT state FROM campaign')" = done ] && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
drive=$(blkid -U "$(ask 'SELECT uuid FROM file_system')")
job=/var/lib/kaltstart/raw/$(ask "SELECT min(id) FROM step WHERE kind = 'fio'")/seq-read.fio
# Where the steps had it, with the options that they had it with (appliance/drives/file_system.py).
folder=$(sed -n 's,^filename=\(.*\)/.*,\1,p' "$job")
kill $!
systemctl stop "${terminals[@]}" kaltstart-engine
while read -r line; do say "$line"; done < <(cat /run/marks /run/windows)
blockdev --setrw "$drive"
mkdir -p "$folder"
mount -t ext4 -o nosuid,nodev,noexec,noatime,no_prefetch_block_bitmaps "$drive" "$folder"
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
