#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests sub-NUMA clustering, with an L3 that is divided into two nodes. The driver reads the counters of a monitor on each node and adds
# the values. The driver rejects nodes that do not share RMIDs.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 9

module=${PMUKIT_SIM:-/lib/vmrun/cache_qos_sim.ko}
rmmod cache_qos_sim
dmesg >before
! insmod "$module" profile=gnr nodes=2 partition=1 lines=2048 2>said && grep -qi "not supported" said
result "R-04 loading a simulated machine whose sub-NUMA nodes do not share RMIDs fails" $?
dmesg | tail -n +$(($(wc -l <before) + 1)) | grep -q "RMIDs are divided among the NUMA nodes of its L3 (MSR 0xca0); Linux lets them share since 6.11"
result "R-04 the log gives the reason: the RMIDs of an L3 are divided among its nodes" $?

insmod "$module" profile=gnr nodes=2 lines=2048
scale=$(scale)
[ "$(cat $devices/cache_qos/caps/scale)" = "$scale" ] && [ "$scale" = $((73728 / 2)) ]
result "R-03 caps/scale is the unit from CPUID divided by the number of nodes of an L3" $?
sed 's/^/# /' $devices/cache_qos/domains
[ "$(cut -d' ' -f1 $devices/cache_qos/domains | tr '\n' ' ')" = "0 1 " ]
result "R-03 the file 'domains' has a line for each sub-NUMA node" $?

two_in_g1 cq-ws2M-400M cq-ws4M-400M
# occupancy_of DOMAIN: prints the occupancy of g1 in the domain
occupancy_of() { awk -v domain="$1" '$1 == domain { print $3 }' $groups/g1/occupancy_domains; }
right() {
	sim flush 0
	sleep 3
	sim freeze 1
	value=$(cat $groups/g1/occupancy)
	first=$(reference_sum lines tid $one) second=$(reference_sum lines tid $two)
	sed 's/^/# /' $groups/g1/occupancy_domains
	echo "# occupancy $value, the reference has $first and $second"
	sim freeze 0
	[ "$first" -gt 0 ] && [ "$second" -gt 0 ] && nearly "$value" $((first + second))
}
right && nearly "$(occupancy_of 0)" "$first" && nearly "$(occupancy_of 1)" "$second"
result "R-26 the occupancy of each node and the sum of both nodes equal the reference" $?

# The task has the same RMID on both nodes: after a move, new lines count for the node where the task runs.
taskset -p 2 $one >/dev/null
right && nearly "$(occupancy_of 0)" 0 && nearly "$(occupancy_of 1)" $((first + second))
result "R-26 after a task moves to the other node, the occupancy of each node and their sum equal the reference" $?

moved=$(cat $groups/g1/mbm_total) units=$(reference_sum total tid $one $two)
sleep 1
sim flush 0
sleep 1
sim freeze 1
moved=$(($(cat $groups/g1/mbm_total) - moved)) units=$(($(reference_sum total tid $one $two) - units))
echo "# moved $moved, the reference has $units"
[ "$units" -gt 0 ] && nearly "$moved" "$units"
result "R-30 mbm_total is the sum of the bytes of both nodes" $?
sim freeze 0

online=/sys/devices/system/cpu/cpu1/online
taskset -p 3 $one >/dev/null
taskset -p 3 $two >/dev/null
echo 0 >$online && passes && [ "$(grep -c . $groups/g1/occupancy_domains)" = 1 ] &&
	echo 1 >$online && taskset -p 2 $two >/dev/null && right && [ "$(grep -c . $groups/g1/occupancy_domains)" = 2 ]
result "R-29 a node has a line in occupancy_domains only while one of its CPUs is online" $?

end_g1
[ "$(refused)" = 0 ]
result "R-04 the simulated machine rejected no register access" $?
reload profile=spr lines=2048
exit $tap_failed
