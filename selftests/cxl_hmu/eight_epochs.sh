#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# eight_epochs.sh [DEVICE]: after each enable, the device generates the same accesses for eight epochs. The script records these
# accesses three times: as AUX data, as samples of stock perf, and with the trace event while the PMU only counts. The recordings are
# left in $out; cxl_hmu_entries_checker compares them with each other and with the device's log.
. "$(dirname "$0")/hmu.sh"
device=${1:-0}
idle=$(dirname "$0")/until_idle.sh

for program in pmukit perf; do
	command -v $program >/dev/null || skip_all "no $program"
done
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/"

trace=/sys/kernel/tracing/instances/pmukit_$$
mkdir "$trace" || skip_all "no tracefs"
trap 'echo 0 >"$trace/events/cxl_hmu/cxl_hmu_record/enable"; rmdir "$trace"' EXIT
echo 4096 >"$trace/buffer_size_kb"
echo "pmu == \"$pmu\"" >"$trace/events/cxl_hmu/cxl_hmu_record/filter"

# Prints how many entries the PMU has delivered. Must be called before the recording starts, because in a slow guest the workload
# might start only after all entries were delivered.
entries_now() {
	cat "$counters/$pmu/entries"
}
# recorded NAME COMMAND...: runs the command; succeeds if the command succeeds and has written $work/NAME, which is copied to $out
recorded() {
	name=$1
	shift
	"$@" >"$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	cp "$work/$name" "$out" && [ $status = 0 ]
}
traced() {
	echo 1 >"$trace/events/cxl_hmu/cxl_hmu_record/enable"
	perf stat -a -e "$event" -- "$idle" "$pmu" "$(entries_now)"
	status=$?
	cat "$trace/trace" >"$work/epochs.trace"
	return $status
}

plan 4
recorded epochs_aux.data pmukit record --source model -a -e "$event" -o "$work/epochs_aux.data" -- "$idle" "$pmu" "$(entries_now)"
result "pmukit record records AUX data" $?
recorded epochs_raw.data perf record -R -a -e "$event" -o "$work/epochs_raw.data" -- "$idle" "$pmu" "$(entries_now)"
result "stock perf records samples" $?
recorded epochs.trace traced
result "the trace event is recorded while the PMU only counts" $?
grep -q 'words={' "$work/epochs.trace"
result "the trace has records" $?
exit $tap_failed
