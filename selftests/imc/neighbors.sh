#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh: runs imc together with the PMUs of the kernel and of all other pmukit drivers. These drivers must have the same PMUs and
# devices before imc is loaded, while it is loaded and afterwards, in both load orders, across unloading and a PCI rescan. Meanwhile
# the counts of imc must equal the engine's reference counters.
. "$(dirname "$0")/tap.sh"
pci=/sys/bus/pci/devices
pmus=/sys/bus/event_source/devices
ours='^nest_|^core_imc$|^thread_imc$|^trace_imc$'

[ -e $pmus/trace_imc ] || skip_all "no trace_imc"
[ -e /etc/vmrun/modules ] || skip_all "no list of modules: the others are loaded as vmrun loads them"

# line NAME: prints the path and the parameters of a module
line() { grep "/$1\.ko" /etc/vmrun/modules; }
# shellcheck disable=SC2046
load() { insmod $(line "$1"); }
others="cache_qos cache_qos_sim cxl_hmu hisi_ptt uncore_pmon"
others_load() {
	for name in $others; do load "$name" || return; done
}
others_unload() {
	for name in cache_qos_sim cache_qos cxl_hmu hisi_ptt uncore_pmon; do rmmod "$name" || return; done
}

# Lists the other PMUs with the number of their events, and PCI functions with their drivers
have() {
	for pmu in $(ls $pmus | grep -vE "$ours"); do
		echo "$pmu $(ls "$pmus/$pmu/events" 2>/dev/null | wc -l)"
	done
	for function in $pci/*; do
		echo "${function##*/} $(basename "$(readlink "$function/driver" 2>/dev/null)")"
	done
}

is_as_before() { have >"$work/now" && cmp -s "$work/before" "$work/now"; }
# unchanged: succeeds if have prints the same as before, within ten seconds, because drivers probe asynchronously
unchanged() {
	within 10 is_as_before && return
	diff "$work/before" "$work/now" | sed 's/^/# /'
	return 1
}

imc_load() { load imc && load imc_engine && [ -e $pmus/trace_imc ]; }
imc_unload() { rmmod imc_engine && rmmod imc && ! ls $pmus | grep -qE "$ours"; }

no_probes() { [ "$(cat /sys/kernel/debug/imc/probes)" = 0 ] && [ "$(cat /sys/kernel/debug/imc_engine/probes)" = 0 ]; }

# counts [COMMAND]: runs tests of the counts of cores, threads and chips while COMMAND runs; succeeds if both succeed
counts() {
	imc_test -t core_counts_equal_the_reference_counters -t thread_counts_equal_the_reference_counters \
		-t nest_counts_equal_the_reference_counters >"$work/counted" 2>&1 &
	test=$!
	sleep 1
	eval "${1:-true}"
	done=$?
	wait $test
	counted=$?
	sed 's/^/# /' "$work/counted"
	[ $counted = 0 ] && [ "$(grep -c '^ok ' "$work/counted")" -ge 3 ] && [ $done = 0 ]
}

rescan() {
	for function in $pci/*; do
		case $(cat "$function/vendor" "$function/device" | tr '\n' ' ') in
		"0x1234 0x4348 " | "0x19e5 0xa12e " | "0x8086 0x09a7 ") echo 1 >"$function/remove" ;;
		esac
	done
	sleep 1
	echo 1 >/sys/bus/pci/rescan
}

plan 11
imc_unload && have >"$work/before"
sed 's/^/# /' "$work/before"
for name in $others; do [ -e /sys/module/"$name" ] || missing=1; done
[ -z "${missing:-}" ] && grep -q '^uncore_imc_0 ' "$work/before" && grep -q '^cxl_hmu_' "$work/before" && grep -q '^cache_qos ' "$work/before" &&
	grep -q '^hisi_ptt' "$work/before" && grep -q '^software ' "$work/before"
result "without imc, all other drivers have their PMUs" $?
imc_load && unchanged
result "the other drivers, loaded before imc, have all their PMUs and devices" $?
no_probes
result "imc has no probe attached while no event is open" $?
counts
result "imc counts exactly while the other drivers are loaded" $?
within 10 no_probes
result "imc has no probe attached after the events are closed" $?
counts rescan && unchanged
result "imc counts exactly while the PCI functions of the other drivers are removed and rescanned" $?
counts "others_unload && others_load" && unchanged
result "imc counts exactly while the other drivers are being unloaded and loaded again" $?
others_unload && counts
result "imc counts exactly while the other drivers are not loaded" $?
imc_unload && imc_load && others_load && unchanged
result "the other drivers, loaded after imc, have all their PMUs and devices" $?
counts
result "imc, loaded before the other drivers, counts exactly" $?
imc_unload && unchanged && imc_load
result "after imc is unloaded, the other drivers have all their PMUs and devices" $?
exit $tap_failed
