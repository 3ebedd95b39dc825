# Runs inside the image (tests/lab/credentials.py), beside a campaign: other policies once it is done.
fat=/run/kaltstart/fat
code() { # name, command…
  local name=$1; shift
  local text; text=$("$@" 2>&1); local code=$?
  say "$name $code $(printf %s "$text" | tr '\n' ' ' | head -c 700)"
}
policy() { # text
  mount -o remount,rw $fat; printf '%b' "$1" > $fat/policy.toml; mount -o remount,ro $fat
}
until compgen -G "$fat/reports/*/verdicts.html" > /dev/null && grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done
say "example $(python3 -c "from pathlib import Path; from appliance.verdict.policy_file import load_policy; print(load_policy(Path('$fat/policy.example.toml')).name)")"
policy "$(sed 's/"lab"/"mild"/' $fat/policy.toml; echo 'surface_unreadable_bytes = { remark = 0 }')\n"
code again python3 -m appliance report
cp -r $fat/reports/1-* /run/mild
policy 'version = 1\n[hdd]\nsurface_mean = { reject = 50 }\nself_test = { failed = "no" }\n'
code check python3 -m appliance check $fat/plan.toml
code broken python3 -m appliance report
say end
