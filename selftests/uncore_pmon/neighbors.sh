#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh MODULE: the kernel's own drivers of the same hardware. intel_vsec has the function that the discovery table is in, and
# must have all of it before, beside and after uncore_pmon, in both orders, over unloading and over a rescan of PCI. intel_uncore
# programs the same units: uncore_pmon must never count beside it. intel_uncore refuses processors that say they are emulated, so
# this one does not say so.
. "$(dirname "$0")/tap.sh"
module=$1
pci=/sys/bus/pci/devices
pmus=/sys/bus/event_source/devices
units=/sys/kernel/debug/uncore_pmon/units
ours=uncore_imc_0
theirs=uncore_type_6_0
event=event=0x05,umask=0xcf
# Not all of the modules: to walk through them takes a guest a minute.
stock=/stock/usr/lib/modules/$(uname -r)/kernel
[ -d "$stock" ] || stock=/stock/lib/modules/$(uname -r)/kernel

bdf=
for function in "$pci"/*; do
	[ "$(cat "$function/vendor" "$function/device")" = "$(printf '0x8086\n0x09a7')" ] && bdf=${function##*/} && break
done
[ -n "$bdf" ] || skip_all "no uncore function"

# load NAME: a stock module, which some releases compress. Fails where the kernel has none.
load() {
	file=$(find "$stock/arch/x86/events/intel" "$stock/drivers/platform/x86/intel" -name "$1.ko*" -o -name "$(echo "$1" | tr _ -).ko*" |
		head -n 1)
	[ -n "$file" ] || return 1
	case $file in
	*.xz) xz -dc "$file" >"$work/$1.ko" ;;
	*) cp "$file" "$work/$1.ko" ;;
	esac && insmod "$work/$1.ko"
}

# What stock drivers have of the function: its driver, its auxiliary devices, what these offer.
have() {
	echo "driver: $(basename "$(readlink "$pci/$bdf/driver" 2>/dev/null)")"
	ls /sys/bus/auxiliary/devices /sys/class/intel_pmt 2>/dev/null
	for telemetry in /sys/class/intel_pmt/telem*; do
		[ ! -e "$telemetry/telem" ] || md5sum <"$telemetry/telem"
	done
}

# In the order in which they are loaded; not every kernel has pmt_discovery.
vsec="intel_vsec pmt_class pmt_discovery pmt_telemetry"
vsec_load() {
	for name in $vsec; do
		load "$name" || [ "$name" = pmt_discovery ] || return
	done
}

vsec_unload() {
	for name in pmt_telemetry pmt_discovery pmt_class intel_vsec; do
		[ ! -e /sys/module/$name ] || rmmod $name || return
	done
}

# unchanged: intel_vsec has what it has without uncore_pmon
unchanged() {
	have >"$work/now"
	diff "$work/before" "$work/now" >"$work/other" && return
	sed 's/^/# /' "$work/other"
	return 1
}

# stat PMU COMMAND...: what perf says of it
stat() {
	pmu=$1
	shift
	perf stat -x ' ' -a -e "$pmu/$event/" -- "$@" 2>"$work/stat" >/dev/null
	sed 's/^/# /' "$work/stat"
}

# counts PMU: loads of the memory behind the first memory controller, exactly
counts() {
	stat "$1" uncore_load --function "${bdf#0000:}" --reads 1234
	grep -q "^1234 .*$1/" "$work/stat"
}

# counts_while COMMAND: what it does to the machine while an event counts is not seen in the count
counts_while() {
	cat >"$work/while" <<-END
		uncore_load --function ${bdf#0000:} --reads 200 >/dev/null
		$1
		uncore_load --function ${bdf#0000:} --reads 300 >/dev/null
	END
	stat $ours sh "$work/while"
	grep -q "^500 .*$ours/" "$work/stat"
}

# ends COMMAND: an event that counts while this is done has no count at the end
ends() {
	cat >"$work/while" <<-END
		uncore_load --function ${bdf#0000:} --reads 200 >/dev/null
		$1
		uncore_load --function ${bdf#0000:} --reads 300 >/dev/null 2>&1
		true
	END
	stat $ours sh "$work/while"
	grep -q "$ours/" "$work/stat" && ! grep -q "^[0-9].*$ours/" "$work/stat"
}

# said TIMES TEXT: lines in the log. An insmod that fails is tried in two ways.
said() { [ "$(dmesg | grep -c "uncore_pmon: .*$2")" = "$1" ]; }

# comes PMU: within ten seconds
comes() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -e "$pmus/$1" ] && return
		sleep 1
	done
	return 1
}

gone() { [ ! -e "$pmus/$1" ]; }

plan 24
rmmod uncore_pmon && gone $ours && ! grep -qa 'alias=pci' "$module"
result "without uncore_pmon, which has no alias of PCI" $?

# intel_vsec
vsec_load && have >"$work/before"
sed 's/^/# /' "$work/before"
grep -q '^driver: intel_vsec$' "$work/before" && grep -q '^intel_vsec\.' "$work/before"
result "intel_vsec has the function and makes its devices" $?
insmod "$module" && comes $ours && unchanged
result "uncore_pmon after it takes nothing away" $?
counts $ours
result "and counts" $?
counts_while 'for name in pmt_telemetry pmt_discovery pmt_class intel_vsec; do [ ! -e /sys/module/$name ] || rmmod $name; done'
result "intel_vsec is unloaded while an event counts" $?
counts_while "for name in $vsec; do [ ! -e $work/\$name.ko ] || insmod $work/\$name.ko; done"
result "and loaded" $?
unchanged
result "intel_vsec after uncore_pmon has all of it" $?
rmmod uncore_pmon && unchanged
result "so it has when uncore_pmon is unloaded" $?
insmod "$module" && comes $ours && ends "echo 1 >$pci/$bdf/remove" && gone $ours
result "the function is removed: the event that counts has no count at the end" $?
echo 1 >/sys/bus/pci/rescan && comes $ours && unchanged
result "a rescan brings the function back to both" $?
counts $ours
result "and uncore_pmon counts" $?
vsec_unload && rmmod uncore_pmon && insmod "$module" && vsec_load && unchanged
result "intel_vsec that loads last has all of it" $?
echo 1 >"$pci/$bdf/remove" && echo 1 >/sys/bus/pci/rescan && comes $ours && unchanged
result "also over a rescan" $?
vsec_unload && counts $ours
result "uncore_pmon without intel_vsec counts" $?

# intel_uncore
load intel_uncore; rmmod intel_uncore
comes $ours && counts $ours
result "intel_uncore came and went: the PMUs are back" $?
ends "insmod $work/intel_uncore.ko"
result "intel_uncore is loaded: the event that counts has no count at the end" $?
gone $ours && [ -e $pmus/$theirs ] && said 2 "intel_uncore is being loaded: PMUs are unregistered"
result "its PMUs are there alone" $?
grep -q "imc_0 mmio .*intel_uncore is loaded" "$units"
result "debugfs says why" $?
counts $theirs
result "intel_uncore counts" $?
echo 1 >"$pci/$bdf/remove" && echo 1 >/sys/bus/pci/rescan && sleep 1 && gone $ours
result "a rescan does not bring PMUs beside it" $?
rmmod uncore_pmon && ! insmod "$module" 2>/dev/null && gone $ours && said 2 "the kernel's intel_uncore has these units; unload it"
result "uncore_pmon does not load after it, with one line in the log" $?
insmod "$module" beside_intel_uncore=1 && [ -e $pmus/$ours ] && [ -e $pmus/$theirs ]
result "but when told" $?
rmmod uncore_pmon && rmmod intel_uncore && insmod "$module" && comes $ours && counts $ours
result "without intel_uncore it need not be told" $?
echo 1 >"$pci/$bdf/remove" && rmmod uncore_pmon && ! insmod "$module" 2>/dev/null && said 2 "no Intel PCI function has a discovery table" &&
	echo 1 >/sys/bus/pci/rescan && insmod "$module" && comes $ours
result "nor does it load where there is no table, but there is one again" $?
exit $tap_failed
