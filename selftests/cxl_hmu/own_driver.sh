#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# own_driver.sh: a stand-in module simulates a kernel with an in-tree driver for hotness monitoring units: the stand-in adds a device of
# that driver, or the driver itself, to the CXL bus. cxl_hmu must not attach to the functions of that driver. Needs two CXL memory
# functions, the files of cxl_hmu and of the stand-in in PMUKIT_MODULE and PMUKIT_STANDIN, and both modules loaded.
. "$(dirname "$0")/hmu.sh"
module=$PMUKIT_MODULE standin=$PMUKIT_STANDIN
pmus=/sys/bus/event_source/devices

[ -e "$module" ] && [ -e "$standin" ] || skip_all "no modules in PMUKIT_MODULE and PMUKIT_STANDIN"
pmu_of_device 0 >/dev/null && pmu_of_device 1 >/dev/null || skip_all "no two CXL memory functions with a PMU"

function_of() { basename "$(dirname "$(grep -lx 0x050210 /sys/bus/pci/devices/*/class | sort | sed -n "$(($1 + 1))p")")"; }
first=$(function_of 0) second=$(function_of 1)

# pmus_of FUNCTION: prints the number of its PMUs, found by name, because not all kernels show the parent of a PMU in sysfs
pmus_of() {
	mem=$(ls "/sys/bus/pci/devices/$1" | grep -x 'mem[0-9]*' | head -n 1)
	ls $pmus | grep -c "^cxl_hmu_${mem:-none}\."
}
# claims FUNCTION: prints how many ranges of its registers the module has requested
claims() {
	awk -v wanted="$1" '
		{ depth = match($0, /[^ ]/); name = $0; sub(/^.* : /, "", name) }
		depth <= inside { inside = 0 }
		name == wanted && !inside { inside = depth }
		inside && name == "cxl_hmu" { claims++ }
		END { print claims + 0 }' /proc/iomem
}
has() { [ "$(pmus_of "$1")" -gt 0 ] && [ "$(claims "$1")" -gt 0 ]; }
has_none() { [ "$(pmus_of "$1")" = 0 ] && [ "$(claims "$1")" = 0 ]; }
# says_once FUNCTION: the message appears once in the log after line $lines
says_once() { [ "$(dmesg | tail -n "+$((lines + 1))" | grep "$1" | grep -c "left to the kernel's own driver")" = 1 ]; }
mark() { lines=$(dmesg | wc -l); }
rebind() {
	echo "$1" >/sys/bus/pci/drivers/cxl_pci/unbind && echo "$1" >/sys/bus/pci/drivers/cxl_pci/bind
}
# loaded_beside WORD: loads the stand-in with shows=WORD, then cxl_hmu
loaded_beside() {
	rmmod cxl_hmu && insmod "$standin" "shows=$1" && mark && insmod "$module"
}

plan 9
has "$first" && has "$second"
result "both CXL memory functions have PMUs, and cxl_hmu has claimed registers of both" $?

rmmod cxl_hmu_own && loaded_beside device && [ -e /sys/bus/cxl/devices/hmu_mem0.0 ]
result "cxl_hmu loads while the first function has a device of an in-tree driver" $?
has_none "$first" && says_once "$first"
result "a function with a device of an in-tree driver has no PMU or claimed registers, and one log line" $?
has "$second" && ! says_once "$second"
result "the other function, which has no device of an in-tree driver, has its PMU" $?
rmmod cxl_hmu_own && rebind "$first" && within 10 has "$first"
result "without the in-tree driver, the first function has its PMU after it is bound again" $?

loaded_beside driver && [ -e /sys/bus/cxl/drivers/cxl_hmu ]
result "cxl_hmu loads while an in-tree driver is registered on the CXL bus" $?
has_none "$first" && says_once "$first" && has_none "$second" && says_once "$second"
result "with an in-tree driver registered, neither function has a PMU or claimed registers; one log line each" $?
mark && rebind "$first" && sleep 1 && has_none "$first" && says_once "$first"
result "while an in-tree driver is registered, a function that is bound again has no PMU" $?
rmmod cxl_hmu_own && rebind "$first" && rebind "$second" && within 10 has "$first" && within 10 has "$second"
result "without the in-tree driver, both functions have their PMUs after they are bound again" $?
insmod "$standin"
exit $tap_failed
