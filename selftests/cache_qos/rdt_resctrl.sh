#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# resctrl is mounted and unmounted while a group is monitored, on a processor emulated with RDT registers (tools/rdt). Checks the owner of
# the registers, the values and class of service of resctrl, and the values of the driver. The readings are in /out/rdt_resctrl.readings;
# check_rdt.sh compares them with the reference log.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt_resctrl.readings
group=$groups/watched

[ -d $resctrl ] || skip_all "no resctrl"
[ -c /dev/cpu/1/msr ] || skip_all "no msr"
cd "$work" || exit 1
plan 15
: >$readings
# All programs except the walks run on CPU 0.
taskset -p 1 $$ >/dev/null
mount -t configfs configfs /sys/kernel/config

has_value() { [ "$(cat $group/occupancy 2>/dev/null || echo 0)" -gt 0 ]; }
# reads_group MARK: records the group's occupancy, read between the marks MARK and MARK + 1
reads_group() {
	passes
	mark "$1"
	occupancy=$(awk '$2 == 1 { print $3 }' $group/occupancy_domains)
	mark $(($1 + 1))
	reading occupancy cache_qos 1 20 "$1" $(($1 + 1)) "$occupancy"
}
has_counted() { awk -F, '{ last = $2 } END { exit !(last > 0) }' stat; }
is_zero() { [ "$(rmid_on 1)" = 0 ]; }

mkdir $group
echo 1 >$group/monitor_cache
busy_in_group $group 20
one=$walker
within 20 has_value && reads_group 1
result "cache_qos monitors a group on CPU 1" $?
perf stat -x, -I 1000 -e cache_qos/llc_occupancy/ -- taskset 2 cache_qos_walk 4 3 70 15 >walked.stat 2>stat &
stat=$!
within 60 grep -q walked walked.stat && within 20 has_counted
result "perf stat -I has counted the occupancy of a program that has walked its memory" $?

mount -t resctrl resctrl $resctrl
result "R-07 resctrl can be mounted while a group is monitored" $?
within 8 registers_are resctrl && grep -q "^state.* yielded" $group/status && within 8 is_zero
result "R-07 when resctrl is mounted, the driver yields and removes its RMID from the CPU" $?
[ "$(logged "resctrl is mounted")" = 1 ]
result "R-07 the driver logs one line about the mount of resctrl" $?
refused_with "busy" cat $group/occupancy
result "R-07 while resctrl is mounted, reading the occupancy of the group fails with EBUSY" $?
mkdir $resctrl/part && echo "L3:0=ffff;1=00ff" >$resctrl/part/schemata
result "resctrl limits the ways of a group" $?
# shellcheck disable=SC2016
walks walked.part sh -c 'echo 0 >"$1/tasks" && exec taskset 2 cache_qos_walk 4 3 50 900' sh $resctrl/part
two=$walker
kill -STOP $one
mark 3
occupancy=$(cat $resctrl/part/mon_data/mon_L3_01/llc_occupancy)
mark 4
reading occupancy resctrl 1 50 3 4 "$occupancy"
reading class resctrl 50 1
[ "$occupancy" -ge $((3 << 20)) ]
result "resctrl shows the occupancy of a program in a group with limited ways" $?
wait $stat
sed 's/^/# /' stat
# perf asks the driver only about tasks that run: the program sleeps until it ends, which is the last line.
tail -n 5 stat | head -n 4 | awk -F, '{ if (NR > 1 && $2 != last) bad = 1; last = $2 } END { exit bad || !(last > 3000000) }' &&
	tail -n 1 stat | grep -q "<not counted>"
result "R-07 while resctrl is mounted, an open event of a sleeping program keeps its last value, and is not counted at its end" $?
writes=$(stat_of pqr_writes)
kill -CONT $one
sleep 2
[ "$(stat_of pqr_writes)" = "$writes" ]
result "R-07 while resctrl is mounted, the driver writes no PQR_ASSOC" $?
end_walker $two
umount $resctrl
result "resctrl can be unmounted" $?

within 8 registers_are cache_qos && within 8 has_value
result "R-07 after resctrl is unmounted, the driver has the registers and values again" $?
evict 60
end_walker $walker
within 20 has_value && reads_group 5
result "R-07 after resctrl is unmounted and the group's lines are evicted, the group has values again" $?
[ "$(class_on 1)" = 0 ] && [ "$(msr 1 0xc90)" = 000000000000ffff ]
result "R-09 after resctrl is unmounted, the class of service of CPU 1 and its ways are as resctrl left them" $?
[ "$(stat_of pqr_faults) $(stat_of hijacks)" = "0 0" ]
result "R-09 no register write failed, and no RMID was attributed to another tool" $?
end_walker $one
rmdir $group
exit $tap_failed
