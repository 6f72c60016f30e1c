#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# stock_perf.sh [DEVICE]: stock perf records hot-list entries as samples, with and without -R. The files are left in $out for
# `pmukit dump`.
. "$(dirname "$0")/hmu.sh"
device=${1:-0}

command -v perf >/dev/null || skip_all "no perf"
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"

# record NAME OPTION...: records a workload with stock perf in $work/NAME.data
record() {
	data=$work/$1.data
	shift
	perf record "$@" -a -e "$event" -o "$data" -- zipf_access --device "$device" --accesses 2000 --settle-ms 300 \
		>"$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	cp "$data" "$out" && [ -s "$data" ] && [ $status = 0 ]
}

# samples NAME: prints how many samples of the PMU perf script finds in the file
samples() {
	perf script -i "$work/$1.data" -F event 2>/dev/null | grep -c "$pmu"
}

# periods NAME: prints the sum of the periods of all samples; entries NAME: prints the number of entries in all samples
periods() {
	perf script -i "$work/$1.data" -F period 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}
entries() {
	sum=0
	for units in $(pmukit dump -i "$work/$1.data" | sed -n 's/^Header 0: units: \([0-9a-f]*\) .*/\1/p'); do
		sum=$((sum + 0x$units))
	done
	echo $sum
}

plan 9
record stock_raw -R
result "perf record -R writes a file" $?
[ "$(samples stock_raw)" -gt 0 ]
result "perf script shows samples of the PMU" $?
echo "# entries $(entries stock_raw), periods $(periods stock_raw)"
[ "$(entries stock_raw)" -gt 0 ] && [ "$(entries stock_raw)" = "$(periods stock_raw)" ]
result "the periods of the samples add up to the number of entries" $?
# On arm64 perf record -g also requests a user register (LR) from all events.
perf record -g -a -e "$event" -e cpu-clock -o "$work/chains.data" -- zipf_access --device "$device" --accesses 2000 \
	--settle-ms 300 >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
[ $status = 0 ] && [ "$(samples chains)" -gt 0 ]
result "perf record -g accepts the PMU together with a software event" $?
# perf script prints a line per event, then a line per caller.
perf script -i "$work/chains.data" -F event,ip,sym 2>/dev/null >"$work/chains"
awk -v pmu="$pmu" '/:/ { ours = index($0, pmu) } ours && !/:/ && NF { exit 1 }' "$work/chains" && grep -q '^[[:space:]]*[0-9a-f]\{8,\}' "$work/chains"
result "samples of the PMU have no call chain, and samples of the software event have one" $?
record stock_plain
result "perf record without -R writes a file" $?
perf stat -a -e "$event" -- zipf_access --device "$device" --accesses 500 --settle-ms 300 >"$out/stock_stat.said" 2>&1 &&
	grep -q "[1-9].*$pmu" "$out/stock_stat.said"
result "perf stat counts hot-list entries" $?
sed 's/^/# /' "$out/stock_stat.said"
for name in hot_pages hot_pages_read hot_pages_written hot_huge_pages; do
	perf list --raw-dump pmu 2>/dev/null | tr ' ' '\n' | grep -qx "$pmu/$name/" || { echo "# no $name"; missing=1; }
done
[ -z "${missing:-}" ]
result "perf list shows the events of the PMU" $?
opened=0
for name in hot_pages hot_pages_read hot_pages_written hot_huge_pages; do
	perf stat -x ' ' -a -e "$pmu/$name,hotness_threshold=1/" -- true 2>"$work/named"
	sed 's/^/# /' "$work/named"
	! grep -q "^[0-9].*$name" "$work/named" || opened=$((opened + 1))
done
[ $opened = 4 ]
result "perf stat opens each named event with hotness_threshold=1 in the same event string" $?
exit $tap_failed
