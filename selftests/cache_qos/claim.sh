#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Other software uses the monitoring registers while the driver monitors groups: other tools write
# the registers, and resctrl is mounted. The driver must yield and later continue.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 21

# pqr CPU, evtsel CPU: print PQR_ASSOC or QM_EVTSEL of a simulated CPU
pqr() { awk -v cpu="$1" '$1 == "cpu" && $2 == cpu { print $6 }' $sim/cpus; }
evtsel() { awk -v cpu="$1" '$1 == "cpu" && $2 == cpu { print $8 }' $sim/cpus; }
no_rmids() { awk '$1 == "cpu" { if ($6 !~ /^(0x)?[0-9a-f]*00000000$/ && $6 != "0") bad = 1 } END { exit bad }' $sim/cpus; }

# Another tool has written classes of service (CLOSIDs) and event selections.
sim pqr 0 $((3 << 32))
sim pqr 1 $((5 << 32))
sim evtsel 0 $((9 << 32 | 1))
sim evtsel 1 $((7 << 32 | 2))
mkdir $groups/g1 $groups/g2
echo 1 >$groups/g1/monitor_cache
in_group g1 cq-ws4M-400M 200
one=$!
sleep 2
passes
writes=$(stat_of pqr_writes)
case "$(pqr 0) $(pqr 1)" in
0x3*" "0x5*) true ;;
*) false ;;
esac
result "R-09 when the driver writes RMIDs, each CPU keeps its class of service" $?
echo "# $writes writes, PQR_ASSOC $(pqr 0) $(pqr 1), QM_EVTSEL $(evtsel 0) $(evtsel 1)"
# During a pass QM_EVTSEL has other values.
as_found() { [ "$(evtsel 0)" = 0x900000001 ] && [ "$(evtsel 1)" = 0x700000002 ]; }
[ "$writes" -gt 0 ] && within 5 as_found
result "R-10 after reading counters, the driver restores the earlier value of QM_EVTSEL" $?

# Another tool, such as pqos -m, monitors with another RMID on the CPU of the task.
registers_are() { [ "$(cat $devices/cache_qos/registers)" = "$1" ]; }
taskset -p 1 $one >/dev/null
registers_are cache_qos
result "R-07 before another tool writes an RMID, the driver owns the registers" $?
lines=$(dmesg | grep -c "is another tool's")
sim pqr 0 $((4 << 32 | 200))
within 8 registers_are "cpu 0 rmid 200" && within 8 grep -q "^state.* yielded" $groups/g1/status
result "R-08 when another tool writes an RMID, the driver yields and shows the CPU and the RMID" $?
sleep 2
echo "# PQR_ASSOC $(pqr 0) $(pqr 1)"
[ "$(pqr 0)" = 0x4000000c8 ] && [ $(($(pqr 1) & 0xffffffff)) = 0 ] && [ $(($(dmesg | grep -c "is another tool's") - lines)) = 1 ]
result "R-08 the driver has kept the RMID of the other tool, removed its own RMIDs and logged one line" $?
refused_with "busy" writes $groups/g2/monitor_cache 1
result "R-08 while the driver has yielded, starting to monitor a group fails with EBUSY" $?
sim pqr 0 $((4 << 32))
within 8 registers_are cache_qos && within 8 cat $groups/g1/occupancy
result "R-08 after the other tool has cleared its RMID, the group has values again" $?
[ $(($(pqr 0) >> 32)) = 4 ]
result "R-09 after the other tool has cleared its RMID, CPU 0 has the class of service that it set" $?
taskset -p 3 $one >/dev/null

# resctrl
perf stat -x, -I 500 -p $one -e cache_qos/llc_occupancy/,cache_qos/total_bytes/ 2>stat &
stat=$!
# group_stat LEADER EVENT: counts a group of two events of the task, in the file stat.LEADER
group_stat() { exec perf stat -x, -I 500 -p $one -e "{cache_qos/$1/,cache_qos/$2/}" 2>"stat.$1"; }
group_stat llc_occupancy total_bytes &
occupancy_leads=$!
group_stat total_bytes llc_occupancy &
bytes_lead=$!
within 60 test -s stat && within 60 test -s stat.llc_occupancy && within 60 test -s stat.total_bytes
sim flush 0
sleep 1
lines=$(dmesg | grep -c "resctrl is mounted")
sim claim 1
within 8 no_rmids
result "R-07 after resctrl is mounted, the RMIDs of all CPUs become 0" $?
[ "$(stat_of yields)" -gt 0 ] && [ $(($(dmesg | grep -c "resctrl is mounted.*pmukit record -e resctrl//") - lines)) = 1 ] && registers_are resctrl
result "R-07 when resctrl is mounted, the driver counts a yield and logs one line, which names pmukit record -e resctrl//" $?
refused_with "busy" cat $groups/g1/occupancy && refused_with "busy" writes $groups/g2/monitor_cache 1
result "R-07 while resctrl is mounted, reading a group and starting to monitor a group fail with EBUSY" $?
grep -q "^state.* yielded" $groups/g1/status
result "R-07 while resctrl is mounted, the status of the group shows that the driver has yielded" $?
! perf stat -e cache_qos/llc_occupancy/ -- true >said 2>&1 || grep -q "not supported\|not counted" said
result "R-06 while resctrl is mounted, a new event is not counted" $?
before=$(pqr_writes)
sim flush 0
sleep 2
[ "$(pqr_writes)" = "$before" ] && no_rmids
result "R-07 while resctrl is mounted, the driver writes no PQR_ASSOC" $?
sleep 2

sim claim 0
within 8 cat $groups/g1/occupancy
result "R-07 after resctrl is unmounted, the group has values again" $?
sim flush 0
sleep 3
sim freeze 1
kill -INT $stat $occupancy_leads $bytes_lead
wait $stat $occupancy_leads $bytes_lead
sed 's/^/# /' stat
# counted EVENT: the counts of EVENT are numbers, then unknown in at least 3 intervals, then numbers again.
counted() {
	awk -F, -v event="$1" 'index($0, event) { now = $2 ~ /^[0-9.]+$/; if (!now) missing++; else if (missing) again++; else before++ }
		END { exit !(before && missing >= 3 && again) }' stat
}
counted llc_occupancy && counted total_bytes
result "R-07 while resctrl is mounted, perf stat shows open events as not counted, and afterwards their counts" $?
value=$(cat $groups/g1/occupancy) truth=$(reference_sum lines tid $one)
echo "# occupancy $value, the reference has $truth"
[ "$value" -gt 0 ] && nearly "$value" "$truth"
result "R-07 after resctrl is unmounted, the occupancy equals the reference" $?
# The times of a group are those of its leader, so none of them may change in a yield: perf would scale the values of the other event.
# is_frozen LEADER: all counts of the group ran all the time. In at least 3 intervals one after the other, no byte was counted and the
# occupancy was the same; before and after them, bytes were counted.
is_frozen() {
	awk -F, '
		$4 !~ /^cache_qos/ { next }
		$2 !~ /^[0-9.]+$/ || $6 != "100.00" { bad = 1 }
		$4 ~ /llc_occupancy/ { occupancy[++nr_occupancy] = $2 }
		$4 ~ /total_bytes/ { bytes[++nr_bytes] = $2 }
		END {
			for (i = 1; i <= nr_bytes; i++) {
				still = bytes[i] + 0 == 0 && occupancy[i] > 0 && (!row || occupancy[i] == occupancy[i - 1]) ? row + 1 : 0
				again = again || most >= 3 && bytes[i] > 0
				before = before || bytes[i] > 0
				row = before ? still : 0
				most = row > most ? row : most
			}
			exit bad || !again || nr_bytes != nr_occupancy
		}' "stat.$1"
}
# ends_at LEADER BYTES: the last occupancy of the group is nearly BYTES.
ends_at() { nearly "$(awk -F, '$4 ~ /llc_occupancy/ { last = $2 } END { print last }' "stat.$1")" "$2"; }
for leader in llc_occupancy total_bytes; do
	is_frozen $leader && ends_at $leader "$truth"
	status=$?
	sed "s/^/# $leader leads: /" stat.$leader
	result "R-07 while resctrl is mounted, a group led by $leader keeps its occupancy and its times, and counts no bytes" $status
done
sim freeze 0
kill $one
wait $one 2>/dev/null
rmdir $groups/g1 $groups/g2

# Nothing is monitored, so no pass checks PQR_ASSOC; the driver writes it for the first monitor.
within 5 stat_is probes 0
cache_qos_load cq-ws4M-400M 100 &
one=$!
taskset -p 1 $one >/dev/null
sim pqr 0 $((6 << 32))
perf stat -p $one -e cache_qos/llc_occupancy/ -- sleep 1 >said 2>&1
echo "# PQR_ASSOC $(pqr 0)"
case $(pqr 0) in
0x6*) true ;;
*) false ;;
esac
result "R-09 the driver keeps a class of service that was set while nothing was monitored" $?
kill $one
wait $one 2>/dev/null

[ "$(refused)" = 0 ]
result "R-09 the simulated machine rejected no register write" $?
exit $tap_failed
