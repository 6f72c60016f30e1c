#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A CPU, and with it a whole L3, goes offline and online, also many times under load; and the machine suspends.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || skip_all "no CPU that can go"
reload domains=2 lines=1024 || skip_all "no machine of two L3s"
cd "$work" || exit 1
plan 16

# right: flushes the caches; succeeds if the group's occupancy in the refilled caches equals the reference counters
right() {
	sim flush 0
	sim flush 1
	sleep 3
	sim freeze 1
	value=$(cat $groups/g1/occupancy) truth=$(reference_sum lines tid $one $two)
	echo "# occupancy $value, the reference has $truth; $(stat_of hijacks) hijacks, $(stat_of violations) violations"
	sim freeze 0
	[ "$value" -gt 0 ] && nearly "$value" "$truth"
}

two_in_g1 cq-ws4M-400M cq-ws2M-200M
sim flush 0
sim flush 1
sleep 3
passes
sed 's/^/# /' $groups/g1/occupancy_domains
[ "$(grep -c . $groups/g1/occupancy_domains)" = 2 ] && [ "$(awk '$2 == 1 && $1 == 1 { print $3 }' $groups/g1/occupancy_domains)" -gt 0 ]
result "R-60 occupancy_domains has a line for each L3" $?
total=$(cat $groups/g1/mbm_total)

echo 0 >$online
passes
sed 's/^/# /' $groups/g1/occupancy_domains
[ "$(grep -c . $groups/g1/occupancy_domains)" = 1 ] && [ "$(cut -d' ' -f1 $groups/g1/occupancy_domains)" = 0 ]
result "R-29 an L3 without an online CPU has no line in occupancy_domains" $?
[ "$(cat $groups/g1/mbm_total)" -ge "$total" ]
result "R-31 mbm_total does not decrease when an L3 goes offline" $?
awk '$1 == "cpu" && $2 == 1 { exit !($6 == "0" || $6 == "0x0") }' $sim/cpus
result "R-60 a CPU that is offline has no RMID" $?
size=$(awk '$1 == "id" && $2 == 0 { print $6 }' $sim/domains)
[ "$(cut -d' ' -f1-3 $devices/cache_qos/domains | head -n 1)" = "0 0 $size" ] &&
	[ "$(awk '$1 == 1 { print $4 }' $devices/cache_qos/domains)" = 0 ]
result "R-03 the file 'domains' shows that the L3 has no online CPU" $?

echo 1 >$online
passes
taskset -p 2 $two >/dev/null
sleep 1
sed 's/^/# /' $groups/g1/occupancy_domains
[ "$(grep -c . $groups/g1/occupancy_domains)" = 2 ]
result "R-29 after its CPU is back online, an L3 has a line in occupancy_domains again" $?
hijacks=$(stat_of hijacks)
right
result "R-29 after the CPU is back online, the occupancy equals the reference" $?
[ "$hijacks" = 0 ]
result "R-60 CPU hotplug is not counted as a change of the RMID by other software" $?

# perf ends its event of a CPU that goes offline, and does not start it again when the CPU is back.
perf stat -x, -a -A -I 500 -e cache_qos/llc_occupancy/ -- sleep 7 2>stat &
stat=$!
within 60 test -s stat
sleep 1
echo 0 >$online
sleep 3
echo 1 >$online
taskset -p 2 $two >/dev/null
wait $stat
sed 's/^/# /' stat
awk -F, '$2 == "CPU1" { some += $3 > 0; last = $3 } END { exit !(some && last == 0) }' stat
result "R-29 R-41 perf stat -a counts 0 for an L3 after its CPU went offline" $?

# Many offline/online cycles while events and groups are created and removed
perf stat -a -e cache_qos/llc_occupancy/ -- sleep 60 >/dev/null 2>&1 &
three=$!
perf stat -p $two -I 100 -e cache_qos/total_bytes/ -- sleep 60 >/dev/null 2>&1 &
four=$!
(
	while [ ! -e stop ]; do
		mkdir $groups/storm && echo 1 >$groups/storm/monitor_cache
		echo $two >$groups/storm/tasks
		cat $groups/storm/occupancy $groups/occupancy >/dev/null
		echo $two >$groups/g1/tasks
		rmdir $groups/storm
	done
) 2>storm &
five=$!
failed=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	echo 0 >$online || failed=$((failed + 1))
	echo 1 >$online || failed=$((failed + 1))
done
echo stop >stop
wait $five
kill $three $four 2>/dev/null
wait $three $four
sed 's/^/# /' storm | head -n 5
[ $failed = 0 ]
result "R-60 a CPU goes offline and online twelve times under load" $?
right
result "R-60 after the twelve offline/online cycles the occupancy equals the reference" $?

# With pm_test the kernel only simulates a suspend, for some seconds, because devices of an emulated machine would not resume. The script
# sets the RMID in CPU 0's register to 0, as a suspend does. If a task switch before the suspend finds this RMID, the driver increments
# the statistic hijacks, but does not yield: RMID 0 does not belong to another tool.
echo 1000 >$devices/cache_qos/sample_ms
total=$(cat $groups/g1/mbm_total) yields=$(stat_of yields)
echo freezer >/sys/power/pm_test && passes && sim pqr 0 0 && echo mem >/sys/power/state
result "R-61 the machine suspends and resumes" $?
echo none >/sys/power/pm_test
echo 100 >$devices/cache_qos/sample_ms
echo "# $(stat_of hijacks) hijacks, registers: $(cat $devices/cache_qos/registers)"
[ "$(stat_of yields)" = "$yields" ] && [ "$(cat $groups/g1/mbm_total)" -ge "$total" ]
result "R-61 after resume the driver has not yielded, and mbm_total has not decreased" $?

end_g1
[ "$(refused)" = 0 ]
result "R-60 the simulated machine rejected no register write" $?

# CPU 1 is offline when the simulated machine is loaded, and comes online afterwards: first in an L3 of its own, then, after the machine is
# loaded again, in an L3 with another CPU.
echo 0 >$online
reload domains=2 lines=1024 && echo 1 >$online && passes
echo "# cpumask $(cat $devices/cache_qos_aux/cpumask)"
[ "$(cat $devices/cache_qos_aux/cpumask)" = 0-1 ]
result "R-60 a CPU that comes online as the first of its L3 is in the cpumask of cache_qos_aux" $?
echo 0 >$online
reload profile=spr lines=2048 && echo 1 >$online && passes
echo "# cpumask $(cat $devices/cache_qos_aux/cpumask)"
[ "$(cat $devices/cache_qos_aux/cpumask)" = 0 ]
result "R-60 a CPU that comes online in an L3 with another CPU is not in the cpumask of cache_qos_aux" $?
exit $tap_failed
