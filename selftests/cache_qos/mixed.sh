#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs all kinds of monitors at once: perf stat of nested cgroups and of a process, groups in configfs,
# and a process that forks all the time. Each task is in several monitors. Programs are frozen when
# monitoring begins and ends, so all values must equal the reference counters to the byte.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
root=/sys/kernel/config/cache_qos
# Select total_bytes by its number, because perf shows the named event in megabytes.
occupancy=cache_qos/llc_occupancy/ traffic=cache_qos/event=0x2/

command -v perf >/dev/null || skip_all "no perf"
mount -t configfs configfs /sys/kernel/config 2>/dev/null
[ -d $root ] || skip_all "no $root"
[ -r $sim/reference ] || skip_all "no simulated machine"
plan 13
cd "$work" || exit 1

# count FILE EVENT [CGROUP]: prints the count in the event's line, or "none"
count() {
	awk -F, -v event="$2" -v cgroup="${3:-}" 'index($3, event) && (cgroup == "" || $4 == cgroup) { n = $1; found = 1; exit }
		END { print found ? n : "none" }' "$1"
}
# is NAME HAVE WANT: prints the result of a test that passes if both values are equal
is() {
	echo "# $1: $2, the reference has $3"
	[ "$2" = "$3" ]
	result "$1" $?
}
stat_of() { file=$1; shift; perf stat -x, -o "$file" "$@" -- sh -c 'touch "$1.began"; until [ -e end ]; do sleep 0.2; done' sh "$file" & }

# perf_event is an implicit controller: a cgroup below the root has it only if another controller is enabled.
mkdir cgroup && mount -t cgroup2 none cgroup && echo +pids >cgroup/cgroup.subtree_control
deep=a/b/c/d/e
mkdir -p cgroup/$deep cgroup/f
mkdir $root/g $root/g/in
echo 1 >$root/g/monitor_cache
echo 1 >$root/g/in/monitor_cache
sim flush 0
sim freeze 1

# run_in CGROUP GROUP NAME SECONDS THREADS FORKS: starts a program in a cgroup and in a group of configfs
run_in() {
	sh -c 'echo $$ >"cgroup/$1/cgroup.procs" && echo $$ >"$2/tasks" && shift 2 && exec cache_qos_load "$@"' sh "$@" &
}
run_in a $root cq-ws4M-150M 600 1 0
outer=$!
run_in $deep $root/g cq-ws3M-150M 600 2 0
inner=$!
# The program that forks has a separate cgroup: the simulation drops the reference counters of children
# that have ended and have no lines, so the sum of the cgroup's traffic would be too small.
run_in f $root/g/in cq-ws1M-100M 600 2 100000
forker=$!
sleep 2

in_a="$(stat -c %i cgroup/a) $(stat -c %i cgroup/$deep)"
in_deep=$(stat -c %i cgroup/$deep)
stats=
stat_of cgroups -a -e "$occupancy,$traffic" --for-each-cgroup a,$deep
stats="$stats $!"
stat_of again -a -e "$occupancy,$traffic" --for-each-cgroup a,$deep
stats="$stats $!"
stat_of process -e "$occupancy,$traffic" -p $inner
stats="$stats $!"
stat_of machine -a -e $occupancy
stats="$stats $!"
tries=0
until [ -e cgroups.began ] && [ -e again.began ] && [ -e process.began ] && [ -e machine.began ] || [ $tries = 60 ]; do
	tries=$((tries + 1))
	sleep 1
done
began_a=$(reference_sum total cgroup $in_a)
began_deep=$(reference_sum total cgroup "$in_deep")
began_inner=$(reference_sum total tgid $inner)
writes=$(pqr_writes)
sim freeze 0
sleep 6
sim freeze 1
sleep 4
touch end
wait $stats
for file in cgroups again process machine; do sed "s/^/# $file: /" $file; done
echo "# $(pqr_writes) writes of PQR_ASSOC, $writes before"

lines_a=$(reference_sum lines cgroup $in_a)
lines_deep=$(reference_sum lines cgroup "$in_deep")
[ "$lines_deep" -gt 0 ] && [ "$lines_a" -gt "$lines_deep" ] && [ "$(pqr_writes)" -gt $((writes + 100)) ]
result "R-15 the outer and the nested cgroup have lines in the cache, and the driver has written RMIDs" $?
is "R-57 the occupancy of a cgroup includes that of its descendants" "$(count cgroups llc_occupancy a)" "$lines_a"
is "R-57 R-59 the occupancy of a deeply nested cgroup equals the reference" "$(count cgroups llc_occupancy $deep)" "$lines_deep"
is "R-57 R-45 the bytes of a cgroup equal the reference" "$(count cgroups event=0x2 a)" $(($(reference_sum total cgroup $in_a) - began_a))
is "R-59 R-45 the bytes of a deeply nested cgroup equal the reference" \
	"$(count cgroups event=0x2 $deep)" $(($(reference_sum total cgroup "$in_deep") - began_deep))
is "R-41 R-57 the occupancy of a second event of the cgroup equals the reference" "$(count again llc_occupancy a)" "$lines_a"
is "R-41 R-45 the bytes of a second event of the cgroup equal the reference" \
	"$(count again event=0x2 a)" $(($(reference_sum total cgroup $in_a) - began_a))
is "R-39 R-41 the occupancy of a process with several threads equals the reference" \
	"$(count process llc_occupancy)" "$(reference_sum lines tgid $inner)"
is "R-39 R-30 the bytes of a process with several threads equal the reference" \
	"$(count process event=0x2)" $(($(reference_sum total tgid $inner) - began_inner))
is "R-18 R-51 the occupancy of a group whose tasks start and end all the time equals the reference" \
	"$(cat $root/g/in/occupancy)" "$(reference_sum lines comm cq-ws1M-100M)"
is "R-51 the occupancy of the parent group, which includes the tasks of its child group, equals the reference" \
	"$(cat $root/g/occupancy)" "$(reference_sum lines comm cq-ws1M-100M cq-ws3M-150M)"
is "R-46 the occupancy that perf stat -a counts equals the lines in all caches" \
	"$(count machine llc_occupancy)" "$(awk '{ for (i = 1; i < NF; i++) if ($i == "valid") n += $(i + 1) } END { print n }' $sim/domains |
	awk -v scale="$(scale)" '{ printf "%d\n", $1 * scale }')"

sim freeze 0
kill $outer $inner $forker
wait $outer $inner $forker 2>/dev/null
sleep 1
rmdir $root/g/in $root/g
[ "$(refused)" = 0 ] && [ "$(awk '$1 == "scale" { print $6 }' $sim/reference)" = 0 ]
result "R-21 the simulated machine rejected no register write and had reference counters for each task" $?
exit $tap_failed
