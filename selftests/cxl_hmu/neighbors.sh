#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh: tests cxl_hmu beside the in-tree drivers of the same hardware. cxl_pci is bound to three functions: two have hotness
# monitoring units, and QEMU emulates the third. cxl_mem is bound to the memory devices that cxl_pci creates. Both drivers must have the
# same devices before, while and after cxl_hmu is loaded, in both load orders, after unloading and after a rescan. The script leaves its
# recordings in $out, where the host checks them. Needs the module's file in PMUKIT_MODULE. The second function also has a CXL PMU.
# Only debug kernels have the driver of a CXL PMU, cxl_pmu (CONFIG_CXL_PMU), but since Linux 6.5 cxl_pci creates a device for it.
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

# Prints which devices the stock drivers are bound to, without the numbers that the drivers assign in the order of discovery.
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
result "without cxl_hmu, the in-tree drivers are bound to all functions and memory devices" $?
insmod "$module" && comes && unchanged
result "the in-tree drivers, loaded before cxl_hmu, have all their devices" $?
records neighbors1 true
result "cxl_hmu, loaded after the in-tree drivers, records" $?
comes && mem=${pmu#cxl_hmu_} && mem=${mem%%.*}
records neighbors2 "cd /sys/bus/cxl/drivers/cxl_mem && echo $mem >unbind && sleep 1 && echo $mem >bind"
result "an event records while cxl_mem is unbound from the memory device and bound again" $?
records neighbors3 "echo 1 >$of_pci/$theirs/remove && sleep 1 && echo 1 >/sys/bus/pci/rescan"
result "an event records while another CXL memory function is removed and found again" $?
unchanged
result "after these recordings the in-tree drivers have all their devices" $?

# Uses the second device, because all recordings of the first are checked. The recorder ends when its PMU is removed; then
# rmmod cxl_pci continues with the other functions.
pmukit record --source model -a -e "$other/$terms/" -o "$work/left.data" -- sh -c "sleep 1; rmmod cxl_pci; sleep 1" >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
[ $status = 1 ] && within 10 gone && grep -q 'disappeared while recording' "$work/said"
result "unloading cxl_pci during a recording ends the recorder with an error that names the cause" $?
load cxl_pci && comes && unchanged
result "after loading cxl_pci again, all devices and the PMU are back" $?
records neighbors4 true
result "cxl_hmu records after cxl_pci is loaded again" $?

rmmod cxl_hmu && rmmod cxl_pci && rmmod cxl_mem && insmod "$module" && gone
result "without cxl_pci and cxl_mem, cxl_hmu has no PMU" $?
load cxl_mem && load cxl_pci && comes && unchanged
result "the in-tree drivers, loaded after cxl_hmu, have all their devices, and the PMU exists" $?
for function in $functions; do echo 1 >"$of_pci/$function/remove"; done
within 10 gone && echo 1 >/sys/bus/pci/rescan && comes && unchanged
result "after all functions are removed and found again, all devices and the PMU exist" $?
records neighbors5 true
result "cxl_hmu records after all functions are found again" $?
rmmod cxl_hmu && unchanged && insmod "$module"
result "after cxl_hmu is unloaded, the in-tree drivers have all their devices" $?
exit $tap_failed
