#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# autoload.sh: calls modprobe with the modalias of each PCI device, as udev does. Only the modalias of a CXL memory function may load
# the module. Needs busybox, and all modules of the guest unpacked next to the file that PMUKIT_MODULE names.
. "$(dirname "$0")/hmu.sh"
modules=/lib/modules/$(uname -r)

[ -e "${PMUKIT_MODULE:-}" ] || skip_all "no module in PMUKIT_MODULE"
pmu_of_device 0 >/dev/null || skip_all "no CXL memory function with a PMU"
memory=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class | head -n 1)
memory=${memory%/class}/modalias
others=$(grep -Lx 0x050210 /sys/bus/pci/devices/*/class | sed 's/class$/modalias/')

loaded() { grep -q '^cxl_hmu ' /proc/modules; }
# ask MODALIAS-FILE...: calls modprobe with the modalias in each file, as udev does; a modalias without a module is no failure
ask() {
	for file; do
		modprobe -q "$(cat "$file")"
	done
	return 0
}

plan 6
[ -n "$others" ]
result "the machine has PCI functions that are not CXL memory functions" $?
mkdir -p "$modules" && cp "$(dirname "$PMUKIT_MODULE")"/*.ko "$modules" && (cd "$modules" && depmod)
modinfo cxl_hmu | tee "$work/modinfo" | grep -q 'alias:.*pci:v\*d\*sv\*sd\*bc05sc02i10\*'
result "cxl_hmu has the PCI alias of a CXL memory function" $?
[ "$(grep -c 'alias:.*pci:' "$work/modinfo")" = 1 ]
result "cxl_hmu has no other PCI alias" $?
! grep -q '^softdep' "$work/modinfo"
result "cxl_hmu has no soft dependency on another module" $?

rmmod cxl_hmu
# shellcheck disable=SC2086
ask $others
! loaded
result "modprobe with the modalias of any other PCI function does not load cxl_hmu" $?
ask "$memory"
loaded && pmu_of_device 0 >/dev/null
result "modprobe with the modalias of a CXL memory function loads cxl_hmu, and its PMU appears" $?
exit $tap_failed
