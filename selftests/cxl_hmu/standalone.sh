#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# standalone.sh: with standalone=1 the module itself binds a function that cxl_pci was unbound from, but not the function that
# cxl_pci drives. Needs two CXL memory functions, the second with generated accesses, and the module's file in PMUKIT_MODULE.
. "$(dirname "$0")/hmu.sh"
pmus=/sys/bus/event_source/devices
drivers=/sys/bus/pci/drivers
module=$PMUKIT_MODULE

[ -e "$module" ] || skip_all "no module in PMUKIT_MODULE"
kept=$(pmu_of_device 0) && pmu_of_device 1 >/dev/null || skip_all "no two CXL memory functions with a PMU"
function=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class | sort | sed -n 2p)
function=$(basename "${function%/class}")
alone=cxl_hmu_mem65536.0.0

driver_is() {
	[ "$(basename "$(readlink -f "/sys/bus/pci/devices/$function/driver")")" = "$1" ]
}
# records NAME PMU SECONDS: records with epochs of 20 ms and threshold 1. Returns the status of the recorder, 2 if there is no
# record.
records() {
	pmukit record --source model -a -e "$2/hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/" \
		-o "$work/$1.data" -- sleep "$3" >"$work/$1.said" 2>&1
	status=$?
	sed 's/^/# /' "$work/$1.said"
	pmukit dump -i "$work/$1.data" | grep -q 'CXL_HMU data' || return 2
	return $status
}

recorded() {
	cat "$counters/$alone/records"
}
more_recorded() {
	[ "$(recorded)" -gt "$before" ]
}

plan 12
[ ! -e "$drivers/cxl_hmu" ]
result "without parameters, cxl_hmu registers no PCI driver" $?
rmmod cxl_hmu
! insmod "$module" standalone=2 2>/dev/null
result "with standalone=2, cxl_hmu does not load" $?

echo "$function" >"$drivers/cxl_pci/unbind"
insmod "$module" standalone=1
driver_is cxl_hmu && [ -e "$pmus/$alone" ]
result "standalone=1: a function without a driver is bound to cxl_hmu and has a PMU" $?
[ "$(cat "$pmus/$alone/caps/interrupts")" != none ] && grep -qw "$alone" /proc/interrupts
result "the PMU has an MSI vector, although the function has fewer vectors than the driver requests" $?
[ -e "$pmus/$kept" ]
result "the function that cxl_pci drives stays with cxl_pci and has its PMU" $?
records alone "$alone" 1
result "the PMU of the function without cxl_pci records" $?

before=$(recorded)
records leaving "$alone" 10 &
recorder=$!
within 8 more_recorded
echo "$function" >"$drivers/cxl_hmu/unbind"
[ ! -e "$pmus/$alone" ]
result "unbinding the function during a recording removes the PMU" $?
wait $recorder
[ $? = 1 ] && grep -q "$alone: the PMU disappeared while recording" "$work/leaving.said"
result "after the unbind, pmukit record keeps its records, names the PMU and exits with status 1" $?
echo "$function" >"$drivers/cxl_hmu/bind"
records again "$alone" 1
result "after the function is bound again, its PMU records" $?

# cxl_pci was registered first, so the kernel offers a new function to cxl_pci first.
echo 1 >"/sys/bus/pci/devices/$function/remove"
echo 1 >/sys/bus/pci/rescan
within 10 driver_is cxl_pci && back=$(pmu_of_device 1) && records back "$back" 1
result "a function that is removed and found again is bound to cxl_pci" $?

echo "$function" >"$drivers/cxl_pci/unbind"
echo "$function" >"$drivers/cxl_hmu/bind"
rmmod cxl_hmu && [ ! -e "/sys/bus/pci/devices/$function/driver" ] && [ -z "$(ls $pmus | grep cxl_hmu)" ]
result "after rmmod, the function has no driver, and no PMU is left" $?

insmod "$module" && echo "$function" >"$drivers/cxl_pci/bind" && back=$(pmu_of_device 1) && records last "$back" 1
result "after cxl_pci is bound to the function, the PMU records" $?
exit $tap_failed
