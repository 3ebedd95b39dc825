# SPDX-License-Identifier: Apache-2.0
# Runs inside the image (tests/lab/agent.py) once the campaign is done: the same tools by hand, in the
# same boot, on the same files. Says KEY VALUE lines.
database=/var/lib/kaltstart/kaltstart.sqlite
ask() { python3 -c 'import sqlite3, sys
for row in sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]): print(*row)' "$database" "$1"; }
by_hand() { # key, fio's words…: bandwidth and IOPS
  local key=$1; shift
  fio --output=/run/hand.json --output-format=json "$@" 2> /run/hand.err || { say "$key failed $(tail -c 300 /run/hand.err)"; return; }
  say "$key $(python3 -c 'import json
text = open("/run/hand.json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
side = max((job["read"], job["write"]), key=lambda side: side["io_bytes"])
print(side["bw_bytes"], side["iops"])')"
}
until [ "$(ask 'SELECT state FROM campaign')" = done ] && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
drive=$(blkid -U "$(ask 'SELECT uuid FROM file_system')")
blockdev --setrw "$drive"
mkdir -p /run/kaltstart/bench
mount -o noatime "$drive" /run/kaltstart/bench
jobs=/var/lib/kaltstart/raw/$(ask "SELECT min(id) FROM step WHERE kind = 'fio'")
for round in 1 2 3; do
  for test in seq-read rand-read seq-write rand-write; do
    by_hand "$test-$round" "$jobs/$test.fio"
  done
done
cd /run/kaltstart/bench
files=$(printf 'lottery/%s:' a b c d e f g h i j)
for round in 1 2 3; do
  by_hand "sequential-$round" --name=hand "--filename=${files%:}" --file_service_type=sequential \
    --readonly --direct=1 --rw=read --bs=1M --ioengine=psync --loops=10
done
for at_once in 1 8; do
  by_hand "surface-$at_once" --name=hand "--filename=$drive" --readonly --direct=1 --rw=read --bs=1M \
    --ioengine=libaio "--iodepth=$at_once" --size=1G
done
say end
