#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh: tests cxl_hmu beside the in-tree drivers of the same hardware. cxl_pci is bound to all functions, two with hotness
# monitoring units and one of QEMU; cxl_mem is bound to the memory devices that cxl_pci creates. Both drivers must have the same
# devices before, while and after cxl_hmu is loaded, in both load orders, after unloading and after a rescan. Recordings made
# meanwhile are left in $out and checked on the host. Needs the module's file in PMUKIT_MODULE. The second function also has a CXL
# PMU. Stock kernels lack its driver, cxl_pmu (CONFIG_CXL_PMU is not set; debug kernels have it), but since Linux 6.5 cxl_pci
# creates a device for it.
. "$(dirname "$0")/hmu.sh"
module=$PMUKIT_MODULE
of_pci=/sys/bus/pci/devices
pmus=/sys/bus/event_source/devices
idle=$(dirname "$0")/until_idle.sh
stock=/stock/usr/lib/modules/$(uname -r)/kernel
[ -d "$stock" ] || stock=/stock/lib/modules/$(uname -r)/kernel

[ -e "$module" ] || skip_all "no module in PMUKIT_MODULE"
pmu_of_device 0 >/dev/null && pmu_of_device 1 >/dev/null || skip_all "no two CXL memory functions with a PMU"
needs_model 0
functions=$(grep -lx 0x050210 $of_pci/*/class | sed 's|/class$||; s|.*/||' | sort)
theirs=$(echo "$functions" | sed -n 3p)
[ -n "$theirs" ] || skip_all "no CXL memory function without a PMU"

# load NAME: loads a stock module, which some releases compress
load() {
	file=$(find "$stock/drivers/cxl" -name "$1.ko*" | head -n 1)
	[ -n "$file" ] || return 1
	case $file in
	*.xz) xz -dc "$file" >"$work/$1.ko" ;;
	*) cp "$file" "$work/$1.ko" ;;
	esac && insmod "$work/$1.ko"
}

# Prints what the stock drivers are bound to, without the numbers they assign: these depend on the order of discovery.
have() {
	for function in $functions; do
		echo "$function driver $(basename "$(readlink "$of_pci/$function/driver" 2>/dev/null)")"
		for mem in "$of_pci/$function"/mem*; do
			echo "$function memory $(basename "$(readlink "$mem/driver" 2>/dev/null)") $(cat "$mem/serial" "$mem/ram/size" "$mem/pmem/size" 2>/dev/null | tr '\n' ' ')"
		done
	done
	ls /sys/bus/cxl/devices | sed 's/[0-9][0-9.]*$//' | sort | uniq -c
	for driver in /sys/bus/cxl/drivers/*; do echo "driver ${driver##*/}"; done
}

is_as_before() { have >"$work/now" && cmp -s "$work/before" "$work/now"; }

# unchanged: succeeds if the in-tree drivers have the same devices as before. Waits up to ten
# seconds, because cxl_pci probes asynchronously.
unchanged() {
	within 10 is_as_before && return
	diff "$work/before" "$work/now" | sed 's/^/# /'
	return 1
}

comes() { pmu=$(pmu_of_device 0) && other=$(pmu_of_device 1); }
gone() { ! ls $pmus | grep -q '^cxl_hmu'; }

terms=epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=5,epoch_scale=4,hotness_granual=12
# records NAME COMMAND: records the eight epochs of the first device, half a second each, while COMMAND runs
records() {
	comes || return 1
	rm -f "$work/failed"
	pmukit record --source model -a -e "$pmu/$terms/" -o "$work/$1.data" -- \
		sh -c "($2) || touch $work/failed; exec $idle $pmu $(cat "$counters/$pmu/entries")" >"$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	cp "$work/$1.data" "$out" && [ $status = 0 ] && [ ! -e "$work/failed" ]
}

plan 14
rmmod cxl_hmu && gone && have >"$work/before"
sed 's/^/# /' "$work/before"
has_cxl_pmu() {
	case $(uname -r) in
	6.1.*) ;;
	*) grep -q ' 1 pmu_mem$' "$work/before" ;;
	esac
}
[ "$(grep -c 'driver cxl_pci$' "$work/before")" = 3 ] && has_cxl_pmu && [ "$(grep -c ' memory cxl_mem' "$work/before")" = 3 ]
result "without cxl_hmu the kernel's drivers have all functions" $?
insmod "$module" && comes && unchanged
result "cxl_hmu after them takes nothing away" $?
records neighbors1 true
result "and records" $?
comes && mem=${pmu#cxl_hmu_} && mem=${mem%%.*}
records neighbors2 "cd /sys/bus/cxl/drivers/cxl_mem && echo $mem >unbind && sleep 1 && echo $mem >bind"
result "cxl_mem lets go of the device and takes it again while an event records" $?
records neighbors3 "echo 1 >$of_pci/$theirs/remove && sleep 1 && echo 1 >/sys/bus/pci/rescan"
result "the other function is removed and found again while an event records" $?
unchanged
result "everybody has what he had" $?

# Uses the second device, because all recordings of the first are checked. The recorder ends when its PMU is removed; then
# rmmod cxl_pci continues with the other functions.
pmukit record --source model -a -e "$other/$terms/" -o "$work/left.data" -- sh -c "sleep 1; rmmod cxl_pci; sleep 1" >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
[ $status = 1 ] && within 10 gone && grep -q 'disappeared while recording' "$work/said"
result "cxl_pci is unloaded while an event records: the recorder says that the PMU went" $?
load cxl_pci && comes && unchanged
result "cxl_pci and the PMU are back" $?
records neighbors4 true
result "and it records" $?

rmmod cxl_hmu && rmmod cxl_pci && rmmod cxl_mem && insmod "$module" && gone
result "cxl_hmu alone has nothing" $?
load cxl_mem && load cxl_pci && comes && unchanged
result "the kernel's drivers after it have all of theirs, and there is the PMU" $?
for function in $functions; do echo 1 >"$of_pci/$function/remove"; done
within 10 gone && echo 1 >/sys/bus/pci/rescan && comes && unchanged
result "so they have over a rescan of all" $?
records neighbors5 true
result "and it records" $?
rmmod cxl_hmu && unchanged && insmod "$module"
result "so they have when cxl_hmu is unloaded" $?
exit $tap_failed
