#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# live.sh: pmukit top shows the one requester whose packets are traced, from trace events and from AUX data.
. "$(dirname "$0")/tap.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || skip_all "no hisi_ptt PMU"

# 04:00.0 is requester ID 1024. It sends at least 40 writes, reads and completions.
top() {
	pmukit top --once --json --top 1 --source model --feed "$1" -e "$pmu/filter=0x00400,type=7,direction=2,format=1/" -- \
		"$(dirname "$0")/everybody.sh" >"$work/top.json" 2>"$work/said"
	status=$?
	sed 's/^/# /' "$work/said" "$work/top.json"
	tlps=$(sed -n 's/.*"requesters":\[{[^}]*"requester":1024,"tlps":\([0-9]*\),.*/\1/p' "$work/top.json")
	[ $status = 0 ] && [ "${tlps:-0}" -ge 40 ] && grep -q "\"feed\":\"$1\"" "$work/top.json" && grep -q '"lost":\[\]' "$work/top.json"
}

plan 2
for feed in bpf aux; do
	top $feed
	result "top: the requester that is traced, from $feed" $?
done
exit $tap_failed
