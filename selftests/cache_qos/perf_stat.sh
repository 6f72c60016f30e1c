#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compares counts of the distribution's perf on the simulated machine with the machine's reference counters.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
event=cache_qos/llc_occupancy/

command -v perf >/dev/null || skip_all "no perf"
[ -d /sys/bus/event_source/devices/cache_qos ] || skip_all "no cache_qos"
[ -r $sim/reference ] || skip_all "no simulated machine"
cd "$work" || exit 1
plan 17

show() { sed 's/^/# /' "$1"; }

# count EVENT [CGROUP]: the event's count in the file stat, or nothing
count() {
	awk -F, -v event="$1" -v cgroup="${2:-}" '
		$3 ~ "cache_qos/" event "/" && $1 ~ /^[0-9.]+$/ && (cgroup == "" || $4 == cgroup) { print $1; exit }' stat
}

perf list 2>/dev/null >list
missing=0
for name in llc_occupancy total_bytes local_bytes remote_bytes; do
	grep -q "cache_qos/$name/" list || { echo "# perf list has no $name"; missing=1; }
done
result "R-38 perf list shows the four events of cache_qos" $missing

# The program's lines are still in the cache when it ends, as no other program accesses memory.
sim flush 0
perf stat -x, -e $event -- cache_qos_load cq-ws4M-400M 2 2>stat
show stat
truth=$(reference_sum lines comm cq-ws4M-400M)
echo "# the reference has $truth"
[ "$truth" -gt 0 ] && nearly "$(count llc_occupancy)" "$truth"
result "R-42 perf stat prints the occupancy of a program at its end" $?

sim flush 0
perf stat -x, -e $event -- cache_qos_load cq-ws2M-200M 2 4 20 2>stat
show stat
truth=$(reference_sum lines comm cq-ws2M-200M)
echo "# the reference has $truth"
[ "$truth" -gt 0 ] && nearly "$(count llc_occupancy)" "$truth"
result "R-42 perf stat counts each thread and child process once" $?

# Commands that perf runs: empty the caches, let the running tasks fill them, and freeze the tasks until perf has read the counts.
moment="echo 'flush 0' >$sim/control; sleep 2; echo 'freeze 1' >$sim/control; sleep 3"

# perf stat -I prints the current occupancy, but the bytes of the interval only. The program has no traffic once its data is in the cache.
cache_qos_load cq-ws4M-400M 100 &
one=$!
perf stat -x, -I 1000 -e $event,cache_qos/total_bytes/ -p $one -- sh -c "$moment" 2>stat
show stat
truth=$(reference_sum lines tid $one)
echo "# the reference has $truth"
nearly "$(awk -F, '/llc_occupancy/ { last = $2 } END { print last }' stat)" "$truth"
result "R-45 perf stat -I prints the current occupancy" $?
awk -F, '/total_bytes/ { sum += $2; last = $2 } END { exit !(sum > 3 && last == 0) }' stat
result "R-45 perf stat -I prints the bytes of each interval" $?
sim freeze 0

perf stat -x, -a -e $event -- sh -c "$moment" 2>stat
show stat
truth=$(awk '$1 == "id" { n += $10 } END { print n }' $sim/domains)
echo "# the machine has $truth lines"
[ "$truth" -gt 0 ] && [ "$(count llc_occupancy)" = $((truth * $(scale))) ]
result "R-46 perf stat -a counts all lines in the caches" $?
sim freeze 0

# Two CPUs share each cache: perf prints the occupancy of the cache for one of them, and 0 for the other.
perf stat -x, -A -a -e $event -- sh -c "$moment" 2>stat
show stat
[ "$(grep -c llc_occupancy stat)" = 2 ] && [ "$(grep -c ',0,Bytes' stat)" = 1 ]
result "R-41 perf stat -A -a counts a cache on only one of the two CPUs that share it" $?
sim freeze 0
taskset -p 1 $one >/dev/null
taskset 2 cache_qos_load cq-ws3M-300M 100 &
two=$!
perf stat -x, -C 1 -e $event -- sh -c "$moment" 2>stat
show stat
truth=$(reference_sum lines tid $two)
echo "# the reference has $truth of CPU 1"
[ "$truth" -gt 0 ] && nearly "$(count llc_occupancy)" "$truth"
result "R-46 perf stat -C 1 counts the occupancy of the task that ran on CPU 1" $?
sim freeze 0
kill $one $two
wait $one $two 2>/dev/null

cache_qos_load cq-ws1M-100M 100 100 0 200 &
one=$!
sleep 1
perf stat -x, -p $one -e $event -- sh -c "cat /sys/kernel/debug/pmukit/cache_qos/rmids_used >used; $moment" 2>stat
show stat
threads=$(ls /proc/$one/task | wc -l)
truth=$(reference_sum lines tgid $one)
echo "# $threads threads, RMIDs in use: $(cat used); the reference has $truth"
[ "$threads" = 100 ] && [ "$(cat used)" = 1 ] && [ "$truth" -gt 0 ] && nearly "$(count llc_occupancy)" "$truth"
result "R-37 R-39 a running process of 100 threads uses one RMID" $?
sim freeze 0
kill $one
wait $one 2>/dev/null

# perf can monitor a cgroup below the root only after another controller, such as pids, is enabled for it.
mkdir cgroup && mount -t cgroup2 none cgroup && echo +pids >cgroup/cgroup.subtree_control && mkdir -p cgroup/a/b cgroup/c
in_cgroup() { sh -c 'echo $$ >"cgroup/$1/cgroup.procs" && exec cache_qos_load "$2" 100' sh "$@" & }
in_cgroup a cq-ws4M-200M
one=$!
in_cgroup a/b cq-ws2M-100M
two=$!
in_cgroup c cq-ws3M-200M
three=$!
perf stat -x, -a -e $event --for-each-cgroup a,a/b,c -- sh -c "$moment" 2>stat
show stat
outer=$(count llc_occupancy a) inner=$(count llc_occupancy a/b)
echo "# the reference has $(reference_sum lines tid $one $two), $(reference_sum lines tid $two), $(reference_sum lines tid $three)"
[ "$inner" -gt 0 ] && [ "$outer" -ge "$inner" ]
result "R-57 the occupancy of a cgroup is at least that of its child" $?
nearly "$outer" "$(reference_sum lines tid $one $two)" && nearly "$inner" "$(reference_sum lines tid $two)" &&
	nearly "$(count llc_occupancy c)" "$(reference_sum lines tid $three)"
result "R-57 the occupancy of each cgroup equals the reference" $?
sim freeze 0

# Open events of a task and of its cgroup at the same time.
perf stat -x, -p $two -e $event -- sleep 6 2>task &
task=$!
sleep 1
perf stat -x, -a -e $event -G a -- sh -c "$moment" 2>stat
truth=$(reference_sum lines tid $two)
wait $task
show task
show stat
echo "# the reference has $(reference_sum lines tid $one $two), $truth"
nearly "$(count llc_occupancy)" "$(reference_sum lines tid $one $two)"
result "R-57 a task with its own event is still counted in its cgroup" $?
sim freeze 0
kill $one $two $three
wait $one $two $three 2>/dev/null

# A virtual machine: vCPUs and I/O threads are threads of one process, and before Linux 6.4 vhost workers are other tasks of its cgroup.
scope=machine.slice/machine-qemu-1.scope
mkdir cgroup/machine.slice && echo +pids >cgroup/machine.slice/cgroup.subtree_control && mkdir cgroup/$scope
sh -c 'echo $$ >"cgroup/$1/cgroup.procs" && exec cache_qos_load cq-ws1M-100M 100 4' sh $scope &
qemu=$!
in_cgroup $scope cq-ws1M-100M
vhost=$!
sleep 1
perf stat -x, -p $qemu -e $event -- sh -c "$moment" 2>stat
show stat
truth=$(reference_sum lines tgid $qemu)
echo "# the reference has $truth for the process, of which $(reference_sum lines tid $qemu) are those of its first thread"
[ "$truth" -gt "$(reference_sum lines tid $qemu)" ] && nearly "$(count llc_occupancy)" "$truth"
result "R-37 the process of a virtual machine is one monitor with all of its threads" $?
sim freeze 0
perf stat -x, -a -e $event -G $scope -- sh -c "$moment" 2>stat
show stat
truth=$(reference_sum lines tgid $qemu $vhost)
echo "# the reference has $truth"
[ "$truth" -gt 0 ] && nearly "$(count llc_occupancy)" "$truth"
result "R-57 the cgroup of a virtual machine is one monitor with its vhost worker" $?
sim freeze 0
kill $qemu $vhost
wait $qemu $vhost 2>/dev/null

# Passes are far apart. The memory of the program is larger than the cache, so its traffic does not end.
echo 1000 >$devices/cache_qos/sample_ms
in_cgroup c cq-ws400M-400M
one=$!
sleep 1
total="awk '\$1 == \"tid\" && \$2 == $one { print \$10 }' $sim/reference"
low=0
for _ in 1 2 3 4 5; do
	perf stat -x, -a -e cache_qos/total_bytes/ -G c -- sh -c "$total >from; sleep 2; $total >to" 2>stat
	truth=$((($(cat to) - $(cat from)) * $(scale)))
	counted=$(awk -F, '/total_bytes/ { printf "%.0f", $1 * 1e6 }' stat)
	echo "# counted $counted bytes; at least $truth were moved"
	[ "$truth" -gt 0 ] && [ $((counted * 100)) -ge $((truth * 99)) ] || low=$((low + 1))
done
[ $low = 0 ]
result "R-45 perf stat counts the traffic of a cgroup until it disables the event" $?
kill $one
wait $one 2>/dev/null
echo 100 >$devices/cache_qos/sample_ms

# Nested cgroups, opened from the innermost: the outermost exceeds the supported depth and is rejected instead of counted wrongly.
path=cgroup/deep list=deep
mkdir $path
for level in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	path=$path/$level
	mkdir $path
	list=${path#cgroup/},$list
done
in_cgroup "${path#cgroup/}" cq-ws1M-100M
one=$!
perf stat -x, -a -e $event --for-each-cgroup "$list" -- sh -c "$moment" 2>stat
show stat
truth=$(reference_sum lines tid $one)
echo "# the reference has $truth"
[ "$truth" -gt 0 ] && nearly "$(count llc_occupancy "${path#cgroup/}")" "$truth" &&
	nearly "$(count llc_occupancy deep/1)" "$truth" && grep -q "^<not counted>.*,deep," stat
result "R-57 the event of the cgroup beyond the supported depth fails, and the other events equal the reference" $?
sim freeze 0
kill $one
wait $one 2>/dev/null

[ "$(refused)" = 0 ]
result "R-21 the simulated machine rejected no register write" $?
exit $tap_failed
