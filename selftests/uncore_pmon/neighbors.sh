#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh MODULE: tests uncore_pmon together with the in-tree drivers of the same hardware. intel_vsec binds the function with the
# discovery table. It must keep all its devices while uncore_pmon loads and unloads, in both orders, and across a PCI rescan. intel_uncore
# programs the same units, so uncore_pmon must not count while intel_uncore is loaded. intel_uncore does not load if CPUID reports a
# hypervisor, so CPUID of this guest reports none.
. "$(dirname "$0")/tap.sh"
module=$1
pci=/sys/bus/pci/devices
pmus=/sys/bus/event_source/devices
units=/sys/kernel/debug/uncore_pmon/units
ours=uncore_imc_0
theirs=uncore_type_6_0
event=event=0x05,umask=0xcf
# Only a part of the stock modules is searched: a search of all takes a guest a minute.
stock=/stock/usr/lib/modules/$(uname -r)/kernel
[ -d "$stock" ] || stock=/stock/lib/modules/$(uname -r)/kernel

bdf=
for function in "$pci"/*; do
	[ "$(cat "$function/vendor" "$function/device")" = "$(printf '0x8086\n0x09a7')" ] && bdf=${function##*/} && break
done
[ -n "$bdf" ] || skip_all "no uncore function"

# find_stock NAME: prints the file of a stock module. Fails if the kernel has none.
find_stock() {
	find "$stock/arch/x86/events/intel" "$stock/drivers/platform/x86/intel" -name "$(echo "$1" | sed 's/_/[-_]/g').ko*" | grep -m 1 .
}

# load NAME: loads a stock module; decompresses it first, because some releases compress their modules with xz
load() {
	file=$(find_stock "$1") || return
	case $file in
	*.xz) xz -dc "$file" >"$work/$1.ko" ;;
	*) cp "$file" "$work/$1.ko" ;;
	esac && insmod "$work/$1.ko"
}

# Prints the state of the stock drivers: the function's driver, its auxiliary devices and their interfaces. Reads TPMI's table and
# registers too; addresses are removed from the output.
have() {
	echo "driver: $(basename "$(readlink "$pci/$bdf/driver" 2>/dev/null)")"
	ls /sys/bus/auxiliary/devices /sys/class/intel_pmt 2>/dev/null
	for tpmi in /sys/kernel/debug/tpmi-"$bdf"/pfs_dump /sys/kernel/debug/tpmi-"$bdf"/tpmi-id-*/mem_dump; do
		[ ! -e "$tpmi" ] || { echo "$tpmi" && sed 's/offset.*0x.*//; s/0x00000000[0-9a-f]*//' "$tpmi"; }
	done
	for telemetry in /sys/class/intel_pmt/telem*; do
		[ ! -e "$telemetry/telem" ] || md5sum <"$telemetry/telem"
	done
}

# Offset of the first memory controller in BAR 2: Documentation/devices/uncore_pmon-model.rst.
imc0=$((0x2a2800))
register() { uncore_load --function "${bdf#0000:}" --bar 2 --width 4 "$@"; }

# mark NUMBER: adds a mark to the model's log, see count_writes.sh
mark() { uncore_load --function "${bdf#0000:}" --width 1 --offset "$1" --bytes 1 --reads 1 >/dev/null; }

# Modules in load order; not every kernel has all of them.
vsec="intel_vsec pmt_class pmt_discovery pmt_telemetry intel_vsec_tpmi"
vsec_load() {
	for name in $vsec; do
		! find_stock "$name" >/dev/null || load "$name" || return
	done
}

# A separate script, because perf stat also runs it. Linux 7.2 frees the devices of intel_vsec in a work item (of device links) that calls
# a function of the module, and does not wait for the work item at unload. That caused a panic without any pmukit function in the trace.
# So the script unbinds the function first, and gives the work item time to run.
cat >"$work/vsec_unload" <<END
for name in intel_vsec_tpmi pmt_telemetry pmt_discovery pmt_class; do
	[ ! -e /sys/module/\$name ] || rmmod \$name || exit
done
echo "$bdf" >/sys/bus/pci/drivers/intel_vsec/unbind && sleep 2 && rmmod intel_vsec
END
vsec_unload() { sh "$work/vsec_unload"; }

# unchanged: succeeds if the state of the stock drivers is the same as before uncore_pmon was loaded
unchanged() {
	have >"$work/now"
	diff "$work/before" "$work/now" >"$work/other" && return
	sed 's/^/# /' "$work/other"
	return 1
}

# stat PMU COMMAND...: runs COMMAND under perf stat; the output goes to $work/stat
stat() {
	pmu=$1
	shift
	perf stat -x ' ' -a -e "$pmu/$event/" -- "$@" 2>"$work/stat" >/dev/null
	sed 's/^/# /' "$work/stat"
}

# counts PMU [OFFSET]: succeeds if the PMU counts exactly 1234 loads from OFFSET (default 0: memory of the first memory controller)
counts() {
	stat "$1" uncore_load --function "${bdf#0000:}" --offset "${2:-0}" --reads 1234
	grep -q "^1234 .*$1/" "$work/stat"
}

# counts_while COMMAND: runs COMMAND while an event counts; succeeds if the count is exact
counts_while() {
	cat >"$work/while" <<-END
		uncore_load --function ${bdf#0000:} --reads 200 >/dev/null
		$1
		uncore_load --function ${bdf#0000:} --reads 300 >/dev/null
	END
	stat $ours sh "$work/while"
	grep -q "^500 .*$ours/" "$work/stat"
}

# ends COMMAND: runs COMMAND while an event counts; succeeds if the event has no count at the end
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

# said TIMES TEXT: succeeds if the log has TEXT this number of times. insmod tries two ways to load a module, so a failure is logged twice.
said() { [ "$(dmesg | grep -c "uncore_pmon: .*$2")" = "$1" ]; }

# comes PMU: waits up to ten seconds until the PMU is registered
comes() { within 10 [ -e "$pmus/$1" ]; }

gone() { [ ! -e "$pmus/$1" ]; }

plan 28
rmmod uncore_pmon && gone $ours && ! grep -qa 'alias=pci' "$module"
result "unloading uncore_pmon removes its PMUs, and the module has no PCI alias" $?

# intel_vsec
vsec_load && have >"$work/before"
sed 's/^/# /' "$work/before"
grep -q '^driver: intel_vsec$' "$work/before" && grep -q '^intel_vsec\.telemetry' "$work/before"
result "intel_vsec binds the function and creates its auxiliary devices" $?
features=4
find_stock intel_vsec_tpmi >/dev/null || features=0
[ "$(grep -c '^intel_vsec\.tpmi-' "$work/before")" = $((features / 2)) ] && [ "$(grep -c '^0x.*N[[:space:]]N' "$work/before")" = $features ]
result "intel_vsec has its TPMI devices, and the TPMI mailbox reports $features enabled features" $?
insmod "$module" && comes $ours && unchanged
result "intel_vsec, loaded before uncore_pmon, has all its devices" $?
counts $ours
result "uncore_pmon, loaded after intel_vsec, counts exactly" $?
counts_while "sh $work/vsec_unload" && [ ! -e /sys/module/intel_vsec ]
result "an event of uncore_pmon counts exactly while intel_vsec is being unloaded" $?
counts_while "for name in $vsec; do [ ! -e $work/\$name.ko ] || insmod $work/\$name.ko; done"
result "an event of uncore_pmon counts exactly while intel_vsec is being loaded" $?
unchanged
result "intel_vsec, loaded after uncore_pmon, has all its devices" $?
rmmod uncore_pmon && unchanged
result "intel_vsec has all its devices after uncore_pmon is unloaded" $?
insmod "$module" && comes $ours && ends "echo 1 >$pci/$bdf/remove" && gone $ours
result "when the PCI function is removed, a running event of uncore_pmon ends without a count" $?
echo 1 >/sys/bus/pci/rescan && comes $ours && unchanged
result "after a PCI rescan, uncore_pmon and intel_vsec have their PMUs and devices again" $?
counts $ours
result "uncore_pmon counts exactly after the rescan" $?
vsec_unload && rmmod uncore_pmon && insmod "$module" && vsec_load && unchanged
result "intel_vsec has all its devices after both modules are loaded again, uncore_pmon first" $?
echo 1 >"$pci/$bdf/remove" && echo 1 >/sys/bus/pci/rescan && comes $ours && unchanged
result "intel_vsec, loaded last, has all its devices after the function is removed and rescanned" $?
vsec_unload && counts $ours
result "uncore_pmon counts exactly after intel_vsec is unloaded" $?

# intel_uncore
load intel_uncore; rmmod intel_uncore
comes $ours && counts $ours
result "uncore_pmon has its PMUs again after intel_uncore was loaded and unloaded" $?
ends "insmod $work/intel_uncore.ko"
result "when intel_uncore is loaded, a running event of uncore_pmon ends without a count" $?
gone $ours && [ -e $pmus/$theirs ] && said 2 "intel_uncore is being loaded: PMUs are unregistered"
result "while intel_uncore is loaded, only its PMUs are registered" $?
grep -q "imc_0 mmio .*intel_uncore is loaded" "$units"
result "debugfs says that units have no PMU because intel_uncore is loaded" $?
counts $theirs
result "intel_uncore, loaded after uncore_pmon, counts exactly" $?
echo 1 >"$pci/$bdf/remove" && echo 1 >/sys/bus/pci/rescan && sleep 1 && gone $ours
result "a PCI rescan does not register PMUs of uncore_pmon beside intel_uncore" $?
# The global control is at offset 0. The test sets its freeze bit: if the driver accessed the units, it would clear the bit.
rmmod uncore_pmon && register --poke 0=1 && mark 1 && ! insmod "$module" 2>/dev/null && mark 2 && [ "$(register --peek 0)" = 1 ] &&
	register --poke 0=0 && gone $ours && said 2 "the kernel's intel_uncore has these units, or is being loaded"
result "uncore_pmon does not load while intel_uncore is loaded, logs the reason and writes no register" $?
insmod "$module" beside_intel_uncore=1 && gone $ours && [ -e $pmus/uncore_pmon_imc_0 ] && [ -e $pmus/$theirs ]
result "beside_intel_uncore=1: uncore_pmon loads with intel_uncore and has PMUs named uncore_pmon_*" $?
rmmod uncore_pmon && rmmod intel_uncore && insmod "$module" && comes $ours && counts $ours
result "after intel_uncore is unloaded, uncore_pmon loads without beside_intel_uncore=1 and counts" $?

# Simulates a user program that programs the unit without a driver: the unit is not frozen and has an event.
rmmod uncore_pmon && register --poke $imc0=0x200 && register --poke $((imc0 + 0x40))=0xcf05 && mark 3 && insmod "$module" &&
	comes uncore_imc_1 && gone $ours && grep -q "imc_0 mmio .*: listed: another program counts with it$" "$units"
result "a unit that a program already uses directly gets no PMU" $?
counts uncore_imc_1 0x100000 && rmmod uncore_pmon && uncore_load --function "${bdf#0000:}" --reads 77 >/dev/null && mark 4 &&
	[ "$(register --peek $((imc0 + 0x08)))" = $((1 + 77 + 1)) ]
result "while a program uses one unit, the other units count exactly, and the program's count is exact" $?
insmod "$module" beside_intel_uncore=1 && counts uncore_pmon_imc_0
result "beside_intel_uncore=1: a unit that a program already uses gets a PMU that counts" $?
rmmod uncore_pmon && insmod "$module" && comes $ours && echo 1 >"$pci/$bdf/remove" && rmmod uncore_pmon && ! insmod "$module" 2>/dev/null && said 2 "no Intel PCI function has a discovery table" &&
	echo 1 >/sys/bus/pci/rescan && insmod "$module" && comes $ours
result "uncore_pmon does not load without a discovery table, but loads after a rescan" $?
exit $tap_failed
