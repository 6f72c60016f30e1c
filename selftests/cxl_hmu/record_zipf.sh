#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_zipf.sh DEVICE SEED NAME: records a zipf workload with pmukit to $out/NAME.data. The workload writes its tally to
# $out/NAME.tally. cxl_hmu_checker checks the recording on the host.
. "$(dirname "$0")/hmu.sh"
device=${1:-0} seed=${2:-1} name=${3:-zipf}

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
# Threshold 1, units of 4 KiB. Epochs of 20 ms: in an epoch the workload accesses fewer units than the model has counters and list
# slots, however fast the machine is. After its last access the workload waits until the epoch has ended.
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/"

# The workload runs on the CPU that drains the hot list: an emulator that runs its CPUs in turns (vmrun, 6.12) could otherwise
# delay interrupts of that CPU by an epoch of 100 ms while the workload keeps the other CPU busy.
cpu=$(cat "/sys/bus/event_source/devices/$pmu/cpumask")

plan 2
echo "# pmukit record --source model -a -e $event"
pmukit record --source model -a -e "$event" -o "$work/$name.data" -- \
	taskset -c "$cpu" zipf_access --device "$device" --seed "$seed" --accesses 60000 --units 4096 --unit-bytes 4096 \
	--write-percent 30 --burst 100 --settle-ms 300 --tally "$out/$name.tally" >"$out/$name.said" 2>&1
result "pmukit record runs the workload" $?
cp "$work/$name.data" "$out"
sed 's/^/# /' "$out/$name.said"
grep -q '^zipf_access: accesses=60000 ' "$out/$name.said"
result "the workload made all its accesses" $?
exit $tap_failed
