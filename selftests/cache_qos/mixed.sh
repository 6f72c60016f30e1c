#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# All kinds of monitors at once: perf stat of nested cgroups and of a process, groups in configfs, and
# a process that forks all the time; each task is in several of them. Programs are frozen when
# monitoring begins and ends, so all values equal the reference counters to the byte.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
root=/sys/kernel/config/cache_qos
# The event by its number, because perf shows total_bytes in megabytes.
occupancy=cache_qos/llc_occupancy/ traffic=cache_qos/event=0x2/

command -v perf >/dev/null || skip_all "no perf"
mount -t configfs configfs /sys/kernel/config 2>/dev/null
[ -d $root ] || skip_all "no $root"
[ -r $sim/reference ] || skip_all "no simulated machine"
plan 13
cd "$work" || exit 1

# count FILE EVENT [CGROUP]: the count in the event's line, or "none"
count() {
	awk -F, -v event="$2" -v cgroup="${3:-}" 'index($3, event) && (cgroup == "" || $4 == cgroup) { n = $1; found = 1; exit }
		END { print found ? n : "none" }' "$1"
}
# is NAME HAVE WANT: passes if both values are equal
is() {
	echo "# $1: $2, the reference has $3"
	[ "$2" = "$3" ]
	result "$1" $?
}
stat_of() { file=$1; shift; perf stat -x, -o "$file" "$@" -- sh -c 'touch "$1.began"; until [ -e end ]; do sleep 0.2; done' sh "$file" & }

# A cgroup has perf's implicit controller only if another controller is enabled.
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
# In a separate cgroup: the simulation drops the reference counters of ended children without lines,
# traffic included.
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
result "R-15 all had something to do" $?
is "R-57 a cgroup has its own and its descendants' lines" "$(count cgroups llc_occupancy a)" "$lines_a"
is "R-57 R-59 a cgroup far below has its own" "$(count cgroups llc_occupancy $deep)" "$lines_deep"
is "R-57 R-45 a cgroup's traffic" "$(count cgroups event=0x2 a)" $(($(reference_sum total cgroup $in_a) - began_a))
is "R-59 R-45 that of one far below" "$(count cgroups event=0x2 $deep)" $(($(reference_sum total cgroup "$in_deep") - began_deep))
is "R-41 R-57 another event of the same cgroup has its lines as well" "$(count again llc_occupancy a)" "$lines_a"
is "R-41 R-45 and its traffic" "$(count again event=0x2 a)" $(($(reference_sum total cgroup $in_a) - began_a))
is "R-39 R-41 a process of several threads" "$(count process llc_occupancy)" "$(reference_sum lines tgid $inner)"
is "R-39 R-30 its traffic" "$(count process event=0x2)" $(($(reference_sum total tgid $inner) - began_inner))
is "R-18 R-51 a group of children that come and go" "$(cat $root/g/in/occupancy)" "$(reference_sum lines comm cq-ws1M-100M)"
is "R-51 the group around it" "$(cat $root/g/occupancy)" "$(reference_sum lines comm cq-ws1M-100M cq-ws3M-150M)"
is "R-46 the machine" "$(count machine llc_occupancy)" "$(awk '{ for (i = 1; i < NF; i++) if ($i == "valid") n += $(i + 1) } END { print n }' $sim/domains |
	awk -v scale="$(scale)" '{ printf "%d\n", $1 * scale }')"

sim freeze 0
kill $outer $inner $forker
wait $outer $inner $forker 2>/dev/null
sleep 1
rmdir $root/g/in $root/g
[ "$(refused)" = 0 ] && [ "$(awk '$1 == "scale" { print $6 }' $sim/reference)" = 0 ]
result "R-21 no write was refused, and the simulation had a page for each task" $?
exit $tap_failed
