#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_zipf.sh DEVICE SEED NAME: records a zipf workload with pmukit into $out/NAME.data; the
# workload's own tally goes to $out/NAME.tally. The recording is checked on the host, by
# cxl_hmu_checker.
. "$(dirname "$0")/hmu.sh"
device=${1:-0} seed=${2:-1} name=${3:-zipf}

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
# Every access counts; units of 4 KiB. Epochs of 20 ms: fewer units are touched in one than the model has counters and
# places in its list, however fast the machine. The workload waits at its end for the last epoch.
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/"

# On the CPU that drains the hot list: an emulator that runs its CPUs in turns (vmrun, 6.12) would otherwise
# let the interrupts of that CPU wait for 100 ms, an epoch, while the workload keeps the other one busy.
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
