#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# neighbors.sh: cache_qos together with resctrl and the kernel's PMUs, on a processor without monitoring. Their state is the same
# before, during and after the use of cache_qos, with a simulation or without. (claim.sh tests a mounted resctrl in a simulation.)
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
result "without cache_qos" $?
lines=$(dmesg | wc -l)
! insmod "$module" 2>"$work/refused" && gone && [ $(($(dmesg | wc -l) - lines)) -ge 1 ]
status=$?
sed 's/^/# /' "$work/refused"
result "it does not load where the processor has no monitoring, and says so" $status
unchanged
result "and leaves nothing" $?
# shellcheck disable=SC2086
insmod "$module" backend=sim && insmod $simulation && [ -d $pmus/cache_qos ] && unchanged
result "in a simulation it takes nothing away" $?
perf stat -x ' ' -a -e cache_qos/llc_occupancy/,context-switches,cpu-clock -- \
	sh -c 'echo 1 >/sys/bus/pci/rescan; mount -t resctrl resctrl /sys/fs/resctrl 2>/dev/null; cache_qos_load 1M 2' >"$work/said" 2>"$work/stat"
sed 's/^/# /' "$work/stat"
[ "$(grep -c '^[0-9]' "$work/stat")" = 3 ] && ! grep -q '<not' "$work/stat"
result "it counts beside events of the kernel, over a rescan and a mount that is refused" $?
unchanged
result "everybody has what he had" $?
rmmod cache_qos_sim && rmmod cache_qos && gone && unchanged
result "so they have when it is unloaded" $?
# shellcheck disable=SC2086
insmod "$module" backend=sim && insmod $simulation && [ -d $pmus/cache_qos ]
result "and it comes back" $?
exit $tap_failed
