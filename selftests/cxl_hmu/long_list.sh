#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# long_list.sh DEVICE ENTRIES: records a device that generates ENTRIES entries, which fill its long list twice. The recording ends
# when all entries have arrived, however slow the machine is. The recording is left in $out; cxl_hmu_entries_checker compares it with
# the device's log.
. "$(dirname "$0")/hmu.sh"
device=$1 entries=$2

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=4,epoch_multiplier=1,epoch_scale=5,hotness_granual=8/"

plan 2
pmukit record --source model -a -e "$event" -o "$work/long.data" -- "$(dirname "$0")/until_idle.sh" "$pmu" "$(cat "$counters/$pmu/entries")" "$entries" >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
cp "$work/long.data" "$out" && [ $status = 0 ]
result "pmukit record records a hot list that fills twice" $?
for counter in "$counters/$pmu"/*; do echo "# ${counter##*/} $(cat "$counter")"; done
[ "$(cat "$counters/$pmu/lost")" = 0 ]
result "the driver counts no lost entry" $?
exit $tap_failed
