#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# beside.sh MODULE: the kernel's own driver, intel_uncore, has the units first. It refuses processors that say they are emulated,
# so this one does not say so. What it counts is as good a test of the model as any; then ours must stay out, unless told.
. "$(dirname "$0")/tap.sh"
module=$1
sysfs=/sys/bus/event_source/devices
theirs=uncore_type_6_0
ours=uncore_imc_0
event=event=0x05,umask=0xcf

function=$(ls -d /sys/bus/pci/devices/*/uncore_pmon 2>/dev/null | head -n 1)
[ -n "$function" ] || skip_all "no uncore function"
bdf=$(basename "$(dirname "$function")")
driver=/sys/bus/pci/devices/$bdf/driver

# Stock modules are compressed in some releases.
theirs_load() {
	file=$(find "/stock/usr/lib/modules/$(uname -r)" /stock/lib/modules/"$(uname -r)" -name 'intel-uncore.ko*' 2>/dev/null | head -n 1)
	case $file in
	*.xz) xz -dc "$file" >"$work/intel-uncore.ko" ;;
	*) cp "$file" "$work/intel-uncore.ko" ;;
	esac && insmod "$work/intel-uncore.ko"
}

# counts PMU: loads of the memory behind the first memory controller, exactly
counts() {
	perf stat -x ' ' -a -e "$1/$event/" -- uncore_load --function "${bdf#0000:}" --reads 1234 2>"$work/stat" >/dev/null
	sed 's/^/# /' "$work/stat"
	grep -q "^1234 .*$1/" "$work/stat"
}

plan 9
rmmod uncore_pmon && [ ! -e $sysfs/$ours ]
result "without ours" $?
theirs_load && [ -e $sysfs/$theirs ]
result "intel_uncore finds the units" $?
counts $theirs
result "and counts what they do" $?
insmod "$module" && [ ! -e "$driver" ] && [ ! -e $sysfs/$ours ]
result "ours stays out" $?
[ "$(dmesg | grep -c "uncore_pmon $bdf: .*the kernel's intel_uncore has these units; unload it, or say beside_intel_uncore=1")" = 1 ]
result "with one line in the log" $?
rmmod uncore_pmon && insmod "$module" beside_intel_uncore=1 && [ -e "$driver" ] && [ -e $sysfs/$ours ] && [ -e $sysfs/$theirs ]
result "it comes in when told" $?
counts $ours
result "and counts" $?
rmmod uncore_pmon && rmmod intel_uncore && insmod "$module" && [ -e "$driver" ]
result "without intel_uncore it need not be told" $?
counts $ours
result "and counts" $?
exit $tap_failed
