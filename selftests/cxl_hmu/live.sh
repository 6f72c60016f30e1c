#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# live.sh [DEVICE]: runs pmukit doctor, and pmukit top with each of its feeds. top must show the unit with the most accesses in
# the workload's tally as the hottest page, with the same number of accesses. A recording in pipe format is left in
# $out/live.data.
. "$(dirname "$0")/hmu.sh"
device=${1:-0}

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/"
cpu=$(cat "/sys/bus/event_source/devices/$pmu/cpumask")
workload="taskset -c $cpu zipf_access --device $device --accesses 3000 --units 512 --unit-bytes 4096 --skew-percent 120 \
	--burst 100 --settle-ms 300 --tally $work/tally"

say() { sed 's/^/# /' "$1"; }

# Succeeds if the page in $work/top.json is the hottest unit of the tally, with its accesses, and no entry is lost.
is_hottest() {
	say "$work/top.json"
	hottest=$(awk '{ sum = $2 + $3; if (sum > most) { most = sum; unit = $1 } } END { print unit * 4096, most }' "$work/tally")
	shown=$(sed -n 's/.*"pages":\[{[^}]*"dpa":\([0-9]*\),"accesses":\([0-9]*\).*/\1 \2/p' "$work/top.json" | tail -n 1)
	echo "# hottest by the workload: $hottest, by top: $shown"
	[ -n "$shown" ] && [ "$shown" = "$hottest" ] && grep -q '"source":"model"' "$work/top.json" && grep -q '"lost":\[\]' "$work/top.json"
}
# shellcheck disable=SC2086
top() {
	feed=$1
	shift
	rm -f "$work/tally"
	pmukit top --once --json --top 1 --source model "$@" -e "$event" -- $workload >"$work/top.json" 2>"$work/said"
	status=$?
	say "$work/said"
	[ $status = 0 ] && grep -q "\"feed\":\"$feed\"" "$work/top.json" && is_hottest
}

plan 7
pmukit doctor >"$work/doctor"
result "pmukit doctor finds no problem" $?
say "$work/doctor"
grep -q '^good  module     cxl_hmu ' "$work/doctor" && grep -q "^good  pmus .*$pmu" "$work/doctor"
result "pmukit doctor shows the module cxl_hmu and the PMU as good" $?

# The recorder starts its workload once the event is enabled. Wait for the workload: an earlier pmukit doctor could occupy the PMU, and
# the recorder could not open its event.
pmukit record -a -e "$event" -o "$work/held.data" -- sh -c ': >"$0"; exec sleep 600' "$work/held" 2>"$work/held.said" &
recorder=$!
until [ -e "$work/held" ] || ! kill -0 $recorder 2>/dev/null; do
	sleep 0.1
done
say "$work/held.said"
pmukit doctor >"$work/doctor"
say "$work/doctor"
grep -q "^bad   holders    $pmu.*another event holds this PMU" "$work/doctor" && grep -q "fix: .* $recorder (pmukit)" "$work/doctor"
result "pmukit doctor names the process that uses the PMU" $?
kill $recorder
wait $recorder

top bpf
result "pmukit top shows the hottest page, from trace events" $?
top aux --feed aux
result "pmukit top --feed aux shows the hottest page, from AUX data" $?
rm -f "$work/tally"
# shellcheck disable=SC2086
pmukit record --source model -o - -a -e "$event" -- $workload 2>"$work/said" |
	tee "$out/live.data" | pmukit top --once --json --top 1 - >"$work/top.json"
status=$?
say "$work/said"
[ $status = 0 ] && is_hottest
result "pmukit top shows the hottest page, from a recording that it reads from a pipe" $?
# shellcheck disable=SC2086
pmukit top --batch --interval 0.2 --source model -e "$event" -- $workload --settle-ms 2000 >"$work/top.txt" 2>/dev/null
say "$work/top.txt"
[ "$(grep -c '^pmukit top: .* source=model$' "$work/top.txt")" -gt 1 ] && grep -q "^     1  $pmu  *0x" "$work/top.txt"
result "pmukit top --batch prints the pages at each interval" $?
exit $tap_failed
