#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# sockets.sh: tests two processors with the same units in their discovery tables. Each unit must have one PMU, with a CPU of each processor
# in its cpumask. perf stat -a must add the counts of both processors, and --per-socket must show them separately. A PMU name without a
# number must select all memory controllers.
. "$(dirname "$0")/tap.sh"
sysfs=/sys/bus/event_source/devices
pmu=uncore_imc_0
event=event=0x05,umask=0xcf
first=00:18.0
second=00:19.0

[ -d $sysfs/$pmu ] || skip_all "no $pmu"

cpumask() { cat $sysfs/$pmu/cpumask; }
online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }

# Loads from the first memory controller of each processor, and from the second one of the first processor.
cat >"$work/traffic" <<-END
	uncore_load --function $first --bar 4 --bytes 0x100000 --reads 700 >/dev/null
	uncore_load --function $second --bar 4 --bytes 0x100000 --reads 90 >/dev/null
	uncore_load --function $first --bar 4 --bytes 0x100000 --offset 0x100000 --reads 5 >/dev/null
END

# stat EVENT OPTION... -- COMMAND...: runs COMMAND under perf stat; the output goes to $work/stat
stat() {
	event_of=$1
	shift
	perf stat -x ' ' -e "$event_of" "$@" 2>"$work/stat" >/dev/null
	sed 's/^/# /' "$work/stat"
}

plan 10
[ "$(ls $sysfs | grep -c '^uncore_imc_')" = 2 ] && [ "$(cpumask)" = 0,2 ]
result "each unit has one PMU with a CPU of each processor in its cpumask" $?
stat $pmu/$event/ -a -- sh "$work/traffic"
grep -q "^790 .*$pmu/" "$work/stat"
result "perf stat -a adds the counts of both processors" $?
stat $pmu/$event/ -a --per-socket -- sh "$work/traffic"
grep -q "^S0 1 700 .*$pmu/" "$work/stat" && grep -q "^S1 1 90 .*$pmu/" "$work/stat"
result "perf stat --per-socket shows the count of each processor" $?
stat $pmu/$event/ -C 1 -- sh "$work/traffic"
grep -q "^700 .*$pmu/" "$work/stat"
result "perf stat -C accepts a CPU outside the cpumask and counts on the processor of this CPU" $?
stat uncore_imc/$event/ -a -- sh "$work/traffic"
grep -q "^795 .*uncore_imc/" "$work/stat"
result "the PMU name uncore_imc selects all memory controllers" $?

printf 'uncore_load --function %s --reads 400 >/dev/null\necho 0 >/sys/devices/system/cpu/cpu2/online\n' $second >"$work/leave"
cat "$work/traffic" >>"$work/leave"
stat $pmu/$event/ -a -- sh "$work/leave"
grep -q "^1190 .*$pmu/" "$work/stat" && [ "$(cpumask)" = 0,3 ]
result "when a CPU goes offline, its events move to another CPU of its processor" $?
online 2 1
# A 24-bit counter of a 1.2 GHz clock wraps every 14 ms, so its count is right only if the driver's timer reads it in time.
printf 'echo 0 >/sys/devices/system/cpu/cpu3/online\nsleep 1\n' >"$work/leave"
stat $pmu/event=0x01,umask=0x01/ -C 3 -- sh "$work/leave"
awk '/umask=0x01/ { ticks = $1 } END { exit !(ticks > 600000000) }' "$work/stat"
result "when a CPU goes offline, the driver's timer moves to another CPU of its processor" $?
online 2 0 && [ "$(cpumask)" = 0 ] && stat $pmu/$event/ -a -- sh "$work/traffic" && grep -q "^700 .*$pmu/" "$work/stat"
result "while all CPUs of the second processor are offline, only the first processor counts" $?
online 2 1 && online 3 1 && [ "$(cpumask)" = 0,2 ] && stat $pmu/$event/ -a -- sh "$work/traffic" && grep -q "^790 .*$pmu/" "$work/stat"
result "after the CPUs of the second processor are back online, both processors count" $?

echo 1 >/sys/bus/pci/devices/0000:$second/remove && [ "$(cpumask)" = 0 ] && echo 1 >/sys/bus/pci/rescan
within 10 eval '[ "$(cpumask)" = 0,2 ]'
stat $pmu/$event/ -a -- sh "$work/traffic" && grep -q "^790 .*$pmu/" "$work/stat"
result "after the function of the second processor is removed and found again, both processors count" $?
exit $tap_failed
