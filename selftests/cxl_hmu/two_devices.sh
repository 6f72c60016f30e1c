#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# two_devices.sh: tests two CXL memory functions. The second generates accesses. Removing the first function must not disturb the second,
# neither while an event of the second records nor afterwards. After a rescan the first function must have a PMU again, whose name
# differs from that of the second.
. "$(dirname "$0")/hmu.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
first=$(pmu_of_device 0) && second=$(pmu_of_device 1) || skip_all "no two CXL memory functions with a PMU"
victim=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class | sort | head -n 1)
victim=${victim%/class}

# record PMU NAME SECONDS: records with epochs of 20 ms and threshold 1
record() {
	pmukit record --source model -a -e "$1/access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/" \
		-o "$work/$2.data" -- sleep "$3" >"$work/$2.said" 2>&1
	status=$?
	sed 's/^/# /' "$work/$2.said"
	return $status
}

records() {
	pmukit dump -i "$work/$1.data" | grep -c 'CXL_HMU data'
}

plan 7
[ "$first" != "$second" ]
result "two devices have two PMUs" $?
[ "$(cat /sys/bus/cxl/devices/mem*/serial | sort -u | wc -l)" = 2 ]
result "two devices have two serial numbers" $?

record "$second" during 4 &
recorder=$!
sleep 2
echo 1 >"$victim/remove"
wait $recorder && [ "$(records during)" -gt 0 ]
result "the second device records while the first is removed" $?
[ ! -e "/sys/bus/event_source/devices/$first" ] && [ -e "/sys/bus/event_source/devices/$second" ]
result "only the PMU of the first device is removed" $?
record "$second" after 1 && [ "$(records after)" -gt 0 ]
result "the second device records after the removal of the first" $?

echo 1 >/sys/bus/pci/rescan
back=$(pmu_of_device 0) && [ "$back" != "$second" ] && [ "$(pmu_of_device 1)" = "$second" ]
result "after a rescan the first device has a PMU again, and the PMU of the second is the same" $?
record "$back" back 1
result "the new PMU of the first device records" $?
exit $tap_failed
