#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests three ways to record values: in samples of a clock event that leads the group, as trace events, and as snapshots in an AUX area or
# in samples. pmukit and the distribution's perf record; the values must equal the reference counters of the simulation.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
for program in perf pmukit; do
	command -v $program >/dev/null || skip_all "no $program"
done
need_machine
cd "$work" || exit 1
plan 20
event=cache_qos/llc_occupancy/

# whole FILE N: succeeds if the recording has each kind of value of each of the 64 groups at least 10 times, and if the most frequent
# one occurs at most N times more than the least frequent one
whole() {
	pmukit dump -i "$1" | awk -v cut="$2" '
		{ sub(/^ *(0x[0-9a-f]+)? */, "") }
		$3 == "group" { seen[$4 " " $7]++ }
		END {
			for (figure in seen) {
				figures++
				if (!least || seen[figure] < least) least = seen[figure]
				if (seen[figure] > most) most = seen[figure]
			}
			printf "# %d figures, each %d to %d times\n", figures, least, most
			exit !(figures && figures % 64 == 0 && least >= 10 && most - least <= cut)
		}'
}

# value_of N: prints the raw value of the N-th event of the group in the last sample
value_of() { printf '%d\n' "0x$(sed -n "$1s/.*value \([0-9a-f]*\).*/\1/p" values)"; }

# perf opens one event per CPU for a task; only the event of the CPU where the task runs has samples.
for cpu in 0 1; do
	name=cq-ws4M-40${cpu}M
	sim flush 0
	perf record -q -F 250 -e "{cpu-clock,$event,cache_qos/total_bytes/}:S" -o group.data -- \
		taskset $((1 << cpu)) cache_qos_load $name 2 >said 2>&1
	result "R-47 perf record samples a perf group whose leader is a clock event, CPU $cpu" $?
	sed 's/^/# /' said
	truth=$(reference_sum lines comm $name) moved=$(reference_sum total comm $name)
	perf script -i group.data -D 2>/dev/null | grep ' value [0-9a-f]*' | tail -n 3 >values
	sed 's/^/# /' values
	last=$(value_of 2)
	echo "# the last sample has $last and $(value_of 3), the reference $truth and $moved at the end"
	[ "$truth" -gt 0 ] && nearly "$last" "$truth" && nearly "$(value_of 3)" "$moved"
	result "R-47 the values in the last sample equal the reference, CPU $cpu" $?
	# perf script prints the change of a value since the last sample, if it is not 0.
	perf script -i group.data -F event,period >script 2>said
	grep llc_occupancy script | head -n 2 | cat - said | sed 's/^/# /'
	[ "$(awk '/llc_occupancy/ { sum += $1 } END { printf "%d\n", sum }' script)" = "$last" ]
	result "R-47 the changes that perf script prints add up to the value in the last sample, CPU $cpu" $?
done

sim flush 0
cache_qos_load cq-ws4M-200M 100 &
one=$!
perf record -q -a -e 'cache_qos:*' -o trace.data -- \
	perf stat -x, -o stat -p $one -e $event -- sh -c "echo 'flush 0' >$sim/control; sleep 3; echo 'freeze 1' >$sim/control; sleep 3" >said 2>&1
result "R-47 perf record records the trace events of cache_qos" $?
truth=$(reference_sum lines tid $one)
perf script -i trace.data >script 2>said
head -n 3 script | cat - said | sed 's/^/# /'
grep 'kind=task event=llc_occupancy' script | tail -n 1 | sed 's/^/# /'
last=$(sed -n 's/.*kind=task event=llc_occupancy bytes=\([0-9]*\).*/\1/p' script | tail -n 1)
[ "$truth" -gt 0 ] && nearly "$last" "$truth" && [ "$(grep -c 'kind=task event=llc_occupancy' script)" -ge 10 ]
result "R-47 trace events have at least ten values of a task, and the last equals the reference" $?
grep -q 'cache_qos_rmid: rmid=[0-9]* alloc' script && grep -q 'cache_qos_rmid: rmid=[0-9]* limbo' script
result "R-47 trace events show that an RMID is allocated and that it goes into limbo" $?
sim freeze 0
grep 'kind=task' script | grep -q "id=$one name=cq-ws4M-200M\$"
result "R-67 trace events show the name of the task" $?
kill $one
wait $one 2>/dev/null

# A process is shown with the name of the program that it executes later; cgroups are shown with their path.
mkdir cgroup && mount -t cgroup2 none cgroup && echo +pids >cgroup/cgroup.subtree_control && mkdir -p cgroup/a/b
long=cgroup/0123456789-0123456789-0123456789
mkdir $long
# perf enables a cgroup event on a CPU when a task of the cgroup runs there.
in_cgroup() { sh -c 'echo $$ >"$1/cgroup.procs" && exec cache_qos_load cq-ws1M-10M 300' sh "$1" & }
in_cgroup cgroup/a/b
three=$!
in_cgroup $long
four=$!
used_at_least() { [ "$(stat_of rmids_used)" -ge "$1" ]; }
perf stat -a -e $event --for-each-cgroup "a/b,${long#cgroup/}" -- sh -c 'until [ -e done ]; do sleep 0.1; done' >/dev/null 2>stat &
one=$!
perf stat -e $event -- sh -c 'until [ -e go ]; do sleep 0.1; done; exec cache_qos_load cq-ws1M-100M 4' >/dev/null 2>&1 &
two=$!
mkdir -p $groups/up/down && echo 1 >$groups/up/down/monitor_cache
within 20 used_at_least 4
pmukit record --source model -C 0 -e cache_qos_aux/snapshot/ -o names.data -- sh -c 'sleep 1; echo >go; sleep 3' >said 2>&1
echo >done
wait $one $two
kill $three $four
wait $three $four 2>/dev/null
sed 's/^/# /' stat
pmukit report -i names.data >report 2>&1
head -n 30 report | sed 's/^/# /'
grep -Eq '^ *[0-9]+ +cgroup +/a/b +0 ' report && grep -Eq "^ *[0-9]+ +cgroup +/${long#cgroup/} +0 " report
result "R-67 pmukit report shows cgroups with their path" $?
grep -Eq '^ *[0-9]+ +group +/up/down +0 ' report
result "R-67 pmukit report shows groups with their path" $?
grep -Eq '^ *[0-9]+ +task +cq-ws1M-100M-[0-9]+ +0 ' report && pmukit dump -i names.data | grep -q 'name .* of task .*: sh$'
result "R-67 pmukit report shows processes with the name of their program" $?
rmdir $groups/up/down $groups/up
umount cgroup

# Monitor 64 groups, with a sample every 10 ms.
echo 10 >$devices/cache_qos/sample_ms
n=0
while [ $n -lt 64 ]; do
	mkdir $groups/s$n && echo 1 >$groups/s$n/monitor_cache
	n=$((n + 1))
done
in_group s7 cq-ws4M-400M 100
one=$!
sim flush 0
pmukit record --source model -C 0 -m 16,1024 -e cache_qos_aux/snapshot/ -o aux.data -- \
	sh -c "sleep 2; echo 'freeze 1' >$sim/control; sleep 1" >said 2>&1
result "R-47 pmukit record records snapshots in an AUX area" $?
sed 's/^/# /' said
truth=$(reference_sum lines tid $one)
pmukit report -i aux.data >report 2>&1
head -n 25 report | sed 's/^/# /'
grep -q "nothing lost" report
result "R-47 a recording of 64 monitors with a period of 10 ms has no losses" $?
number=$(awk '$1 == "monitor" { print $2 }' $groups/s7/status)
last=$(pmukit dump -i aux.data | sed -n "s/.* group $number L3 .* llc_occupancy \([0-9]*\) bytes.*/\1/p" | tail -n 1)
echo "# group s7 is monitor $number, whose last reading is $last; the reference has $truth"
[ "$truth" -gt 0 ] && [ "$last" = "$truth" ]
result "R-47 recorded values have the monitor number that the status file of their group shows" $?
whole aux.data 0
result "R-47 each snapshot in the AUX area is complete" $?
sim freeze 0
perf record -q -R -C 0 -m 1024 -e cache_qos_aux/snapshot,period_ms=100/ -o samples.data -- sleep 4 >said 2>&1 && pmukit report -i samples.data >report 2>&1
result "R-47 perf record -R records snapshots in samples" $?
sed 's/^/# /' said
head -n 25 report | sed 's/^/# /'
# The last snapshot may have been incomplete when perf stopped.
whole samples.data 1
result "R-47 snapshots recorded in samples are complete, although each is divided into sections" $?
kill $one
wait $one 2>/dev/null
n=0
while [ $n -lt 64 ]; do
	rmdir $groups/s$n
	n=$((n + 1))
done
echo 100 >$devices/cache_qos/sample_ms
[ "$(refused)" = 0 ]
result "R-21 the simulated machine rejected no register write" $?
exit $tap_failed
