#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# odd.sh: irregular tables as on real machines: a function with two tables, ids with gaps, a unit that never responds, units whose
# registers sometimes read as all ones. Every count is exact, and the driver logs no warning.
#   00:18.0  two tables: imc 3 and 9; cxlcm 4, cxldp 6, b2cxl 8, unknown type 7
#   00:19.0  imc 12; imc 15, which never responds
#   00:1a.0  imc 20 and 31, unknown type 40; every third read fails
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
pmus=/sys/bus/event_source/devices
units=/sys/kernel/debug/uncore_pmon/units
expander=01:00.0

[ -d $pmus/uncore_imc_3 ] || skip_all "no uncore_imc_3"

# counted EVENTS -- COMMAND...: runs COMMAND under perf stat; the output goes to $work/stat
counted() {
	perf stat -x ' ' -a -e "$@" >/dev/null 2>"$work/stat"
	sed 's/^/# /' "$work/stat"
}
# has COUNT EVENT: succeeds if $work/stat has the event with this count
has() {
	awk -v wanted="$1" -v event="$2" '$1 == wanted && index($0, event) { found = 1 } END { exit !found }' "$work/stat"
}
# loads FUNCTION NTH READS WRITES: prints a command that accesses the memory of the NTH memory controller (counted from 0) of a function
loads() { echo "uncore_load --function $1 --bar 4 --bytes 0x100000 --offset $(($2 * 0x100000)) --reads $3 --writes $4"; }

reads=event=0x05,umask=0xcf
writes=event=0x05,umask=0xf0
# exact ID FUNCTION NTH READS WRITES: succeeds if a memory controller counts reads and writes exactly, as single events and as a group
exact() {
	pmu=uncore_imc_$1
	# shellcheck disable=SC2046
	counted "$pmu/$reads/,$pmu/$writes/" -- $(loads "$2" "$3" "$4" "$5") && has "$4" "$pmu/$reads/" && has "$5" "$pmu/$writes/" &&
		counted "{$pmu/$reads/,$pmu/$writes/}" -- $(loads "$2" "$3" "$5" "$4") && has "$5" "$pmu/$reads/" && has "$4" "$pmu/$writes/"
}

# Prints the driver's log lines with level warning or above.
warnings() { dmesg -r | grep '^<[0-4]>.*uncore_pmon'; }

# passes DEVICE...: succeeds if each device passes the read-only and the writing checks
passes() {
	for nth; do
		none FAIL "$nth" && is PASS "$nth" 4 10 11 17 18 19 || return
	done
}

plan 14
sed 's/^/# /' $units
[ "$(basename -a $pmus/uncore_* | tr '\n' ' ')" = "uncore_b2cxl_8 uncore_cxlcm_4 uncore_cxldp_6 uncore_imc_12 uncore_imc_20 uncore_imc_3 \
uncore_imc_31 uncore_imc_9 uncore_type_99_40 uncore_type_99_7 " ]
result "each unit that responds has a PMU with the id that the discovery table gives it" $?
[ "$(sed -n 's/^0000:00:18\.0 \([0-9]*\) \([^ ]*\) .*/\1 \2/p' $units | tr '\n' ' ')" = "1 imc_3 2 imc_9 1 cxlcm_4 2 cxldp_6 3 b2cxl_8 4 type_99_7 " ]
result "the driver reads both discovery tables of a function" $?
grep -q '^0000:00:19\.0 2 imc_15 mmio package 0: listed: does not answer$' $units
result "debugfs lists the unit that never responds" $?
! warnings
result "the driver logs no warning during the probe" $?

exact 3 00:18.0 0 1200 700
result "the unit imc 3 counts exactly" $?
exact 9 00:18.0 1 90 50
result "the unit imc 9 counts exactly" $?
counted uncore_cxlcm_4/event=0x02,umask=0x08/,uncore_cxldp_6/event=0x02,umask=0x20/,uncore_b2cxl_8/event=0x24,umask=0x04/ -- \
	uncore_load --function $expander --bar 2 --bytes 0x100000 --reads 500 --writes 100
has 500 uncore_cxlcm_4/ && has 100 uncore_cxldp_6/ && has 500 uncore_b2cxl_8/
result "the CXL units in the second table of a function count exactly" $?
exact 12 00:19.0 0 800 300
result "the unit imc 12, in the same table as the unit that never responds, counts exactly" $?
exact 20 00:1a.0 0 2500 1300
result "the unit imc 20, where every third read fails, counts exactly" $?
exact 31 00:1a.0 1 333 111
result "the unit imc 31, where every third read fails, counts exactly" $?

for function in 18.0 19.0 1a.0; do
	loads 00:$function 0 100 0
done >"$work/all"
counted uncore_imc/$reads/ -- sh "$work/all"
has 300 uncore_imc/
result "the PMU name uncore_imc selects all memory controllers" $?
for pmu in "$pmus"/uncore_*; do
	cat "/sys/kernel/debug/pmukit/${pmu##*/}/rejected"
done >"$work/rejected"
[ "$(sort -u "$work/rejected")" = 0 ] && ! warnings
result "after all these counts, the driver has rejected no counter value and logged no warning" $?

# For qualify each table is a device: 0 and 1 are the tables of the first function, 2 and 3 those of the other functions.
rmmod uncore_pmon
qualify --active uncore_pmon
[ "$status" = 0 ] && passes 0 1 2 3 && is PASS 3 20 26 && grep -q 'box control 0x1; 1 of 2' "$work/report"
result "pmukit qualify --active: all tables pass, and the unit that never responds is left out" $?
insmod /lib/vmrun/uncore_pmon.ko && exact 20 00:1a.0 0 10 20
result "the unit imc 20 counts exactly after pmukit qualify --active" $?
exit $tap_failed
