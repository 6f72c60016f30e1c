#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh: tests cache_qos together with resctrl and the kernel's PMUs, on a processor without monitoring. resctrl and these PMUs must
# have the same state before, during and after the use of cache_qos, with a simulation or without. (claim.sh simulates a mounted resctrl.)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
module=/lib/vmrun/cache_qos.ko
pmus=/sys/bus/event_source/devices
simulation=$(grep '/cache_qos_sim\.ko' /etc/vmrun/modules)

[ -e "$module" ] && [ -n "$simulation" ] || skip_all "no modules"
! grep -qw cqm /proc/cpuinfo || skip_all "the processor has monitoring"

# Prints the PMUs with the number of their events, the state of resctrl, and the error of mounting resctrl
have() {
	for pmu in $(ls $pmus | grep -v '^cache_qos'); do
		echo "$pmu $(ls "$pmus/$pmu/events" 2>/dev/null | wc -l)"
	done
	echo "resctrl: $(grep -c resctrl /proc/filesystems) $(ls -d /sys/fs/resctrl 2>/dev/null)"
	mount -t resctrl resctrl /sys/fs/resctrl 2>&1 | sed 's/^/mount: /'
	grep resctrl /proc/mounts
	ls /sys/fs/resctrl 2>/dev/null
}
unchanged() {
	have >"$work/now"
	diff "$work/before" "$work/now" >"$work/other" && return
	sed 's/^/# /' "$work/other"
	return 1
}
gone() { ! ls $pmus | grep -q '^cache_qos'; }
said() { [ "$(dmesg | grep -c "cache_qos: .*$1")" = "$2" ]; }

plan 8
rmmod cache_qos_sim && rmmod cache_qos && gone && have >"$work/before"
sed 's/^/# /' "$work/before"
grep -q '^software ' "$work/before"
result "cache_qos can be unloaded, and the PMUs of the kernel are registered" $?
lines=$(dmesg | wc -l)
! insmod "$module" 2>"$work/refused" && gone && [ $(($(dmesg | wc -l) - lines)) -ge 1 ]
status=$?
sed 's/^/# /' "$work/refused"
result "cache_qos does not load on a processor without monitoring, and logs a line" $status
unchanged
result "the failed load leaves the PMUs and resctrl unchanged" $?
# shellcheck disable=SC2086
insmod "$module" backend=sim && insmod $simulation && [ -d $pmus/cache_qos ] && unchanged
result "loading cache_qos with a simulation leaves the other PMUs and resctrl unchanged" $?
perf stat -x ' ' -a -e cache_qos/llc_occupancy/,context-switches,cpu-clock -- \
	sh -c 'echo 1 >/sys/bus/pci/rescan; mount -t resctrl resctrl /sys/fs/resctrl 2>/dev/null; cache_qos_load 1M 2' >"$work/said" 2>"$work/stat"
sed 's/^/# /' "$work/stat"
[ "$(grep -c '^[0-9]' "$work/stat")" = 3 ] && ! grep -q '<not' "$work/stat"
result "events of cache_qos and software events count during a PCI rescan and a failed mount of resctrl" $?
unchanged
result "after counting, the other PMUs and resctrl are unchanged" $?
rmmod cache_qos_sim && rmmod cache_qos && gone && unchanged
result "after unloading cache_qos, the other PMUs and resctrl are unchanged" $?
# shellcheck disable=SC2086
insmod "$module" backend=sim && insmod $simulation && [ -d $pmus/cache_qos ]
result "cache_qos can be loaded again with the simulation" $?
exit $tap_failed
