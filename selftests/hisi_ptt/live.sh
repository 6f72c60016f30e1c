#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# live.sh: traces the packets of one requester; pmukit top must show this requester, from trace events and from AUX data.
. "$(dirname "$0")/tap.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || skip_all "no hisi_ptt PMU"

# The function 04:00.0 has the requester ID 1024. It sends at least 40 writes, reads and completions.
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
	result "pmukit top --feed $feed shows the traced requester" $?
done
exit $tap_failed
