#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs the example session of the 2014 patches: the same commands in the same order, but with the configfs path instead of
# their mount point. Each file must behave as documented.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
root=/sys/kernel/config/cache_qos
crowd=5000

mount -t configfs configfs /sys/kernel/config 2>/dev/null
[ -d $root ] || skip_all "no $root"
[ -r $sim/reference ] || skip_all "no simulated machine"
plan 20

sums="occupancy occupancy_percent occupancy_error mbm_total mbm_local"
files="tasks procs monitor_cache status"
for name in $sums; do files="$files $name ${name}_persocket ${name}_domains"; done

# size: prints the total size of all caches; state WORD: prints the value of WORD in g1/status
size() { awk '{ n += $3 } END { printf "%d\n", n }' /sys/bus/event_source/devices/cache_qos/domains; }
state() { awk -v word="$1" '$1 == word { print $2 }' g1/status; }

cd $root
mkdir g1
echo $$ > g1/tasks
result "R-49 R-54 a group can be made, and the shell can move into the group" $?

grep -qx $$ g1/tasks && grep -qx $$ g1/cacheqos.tasks && grep -qx $$ g1/procs && ! grep -qx $$ tasks
result "R-50 R-54 the shell is listed in its group and not in the root group" $?

echo 1 > g1/cacheqos.monitor_cache
result "R-50 monitoring of the group can be started" $?

[ ! -e monitor_cache ] && [ ! -e cacheqos.monitor_cache ] && [ "$(cat occupancy)" -ge 0 ] && [ "$(awk '$1 == "monitored" { print $2 }' status)" = 1 ]
result "R-49 the root group is always monitored and has no file monitor_cache" $?

missing=0
for name in $files; do
	for file in "g1/$name" "g1/cacheqos.$name"; do
		cat "$file" >/dev/null || missing=1
	done
	[ "$name" = monitor_cache ] || cat "$name" "cacheqos.$name" >/dev/null || missing=1
done
result "R-50 every file of a group and of the root group has a second name, with the prefix 'cacheqos.'" $missing

cache_qos_load cq-ws4M-200M 600 &
load=$!
sleep 2
sim freeze 1
differ=0
for name in $sums; do
	for form in "" _persocket _domains; do
		[ "$(cat "g1/$name$form")" = "$(cat "g1/cacheqos.$name$form")" ] || { echo "# $name$form"; differ=1; }
	done
done
result "R-50 both names of each file show the same value" $differ

occupancy=$(cat g1/cacheqos.occupancy)
echo "# occupancy $occupancy, the reference has $(reference_sum lines tid $load)"
[ "$occupancy" -gt 0 ] && [ "$occupancy" = "$(reference_sum lines tid $load)" ]
result "R-18 R-50 the occupancy of a group equals the reference of the program that its shell has started" $?

percent=$(awk -v n="$occupancy" -v of="$(size)" 'BEGIN { h = int((n * 10000 + of / 2) / of); printf "%d.%02d\n", h / 100, h % 100 }')
echo "# $(cat g1/cacheqos.occupancy_percent) percent, wanted $percent"
[ "$(cat g1/cacheqos.occupancy_percent)" = "$percent" ]
result "R-50 occupancy_percent is rounded to two decimal places" $?

[ "$(cat g1/cacheqos.occupancy_persocket)" = "$occupancy" ] && [ "$(cat g1/cacheqos.occupancy_percent_persocket)" = "$percent" ]
result "R-50 the files *_persocket have a line for each L3, as in the 2014 patches" $?

awk 'NF != 3 { exit 1 }' g1/occupancy_domains && [ "$(cut -d' ' -f3 g1/occupancy_domains)" = "$occupancy" ]
result "R-50 lines of the file occupancy_domains have the id of the L3 and its package before the value" $?

[ "$(cat g1/mbm_total)" -ge "$occupancy" ] && [ "$(cat g1/mbm_local)" -le "$(cat g1/mbm_total)" ] && [ "$(cat g1/occupancy_error)" -le "$occupancy" ]
result "R-26 R-31 mbm_total is not below the occupancy, and occupancy_error is not above it" $?

fresh() { [ "$(state age_ms)" -le 2000 ]; }
[ "$(state backend)" = sim ] && [ "$(state state)" = good ] && within 5 fresh
result "R-03 R-35 the status shows the back-end, the state 'good' and the age of the values" $?

# Three nested groups: the program moves to the innermost, and the outer groups still include its lines.
mkdir -p g1/g2/g3
echo $load > g1/g2/g3/tasks
echo 1 > g1/g2/g3/cacheqos.monitor_cache
sim flush 0
sim freeze 0
sleep 2
sim freeze 1
lines=$(reference_sum lines tid $load)
echo "# $(cat g1/occupancy) and $(cat g1/g2/g3/occupancy), the reference has $lines"
[ "$lines" -gt 0 ] && [ "$(cat g1/g2/g3/occupancy)" = "$lines" ] && [ "$(cat g1/occupancy)" = "$lines" ] && ! cat g1/g2/occupancy 2>/dev/null
result "R-51 R-52 outer groups include inner groups, and an unmonitored group has no occupancy" $?
sim freeze 0
kill $load
wait $load 2>/dev/null

# Make one group more than there are RMIDs.
mkdir many
n=0
while mkdir many/$n && (echo 1 >many/$n/cacheqos.monitor_cache) 2>"$work/err"; do n=$((n + 1)); done
echo "# $n more groups: $(cat "$work/err")"
[ $n -gt 0 ] && grep -qi "resource temporarily unavailable" "$work/err" && [ "$(cat many/$n/monitor_cache)" = 0 ]
result "R-40 R-55 without a free RMID, writing 1 to monitor_cache fails with EAGAIN, and it stays 0" $?
[ "$(state rmids_free)" = 0 ]
result "R-55 the status shows that no RMID is free" $?
echo 0 >many/0/cacheqos.monitor_cache
tries=0
until (echo 1 >many/$n/cacheqos.monitor_cache) 2>/dev/null || [ $tries = 30 ]; do
	tries=$((tries + 1))
	sleep 1
done
[ "$(cat many/$n/monitor_cache)" = 1 ]
result "R-55 a freed RMID can be assigned to another group after limbo" $?
rmdir many/*/ && rmdir many
result "R-53 groups without child groups can be removed" $?

# Test a list of tasks that is longer than a page.
echo $((4 * crowd)) >/proc/sys/kernel/threads-max
cache_qos_crowd $crowd >"$work/ready" &
all=$!
tries=0
until grep -q ready "$work/ready" || [ $tries = 120 ]; do
	tries=$((tries + 1))
	sleep 1
done
ls /proc/$all/task >"$work/wanted"
cat g1/tasks_all >"$work/have"
# missing FILE IN: prints the number of words of FILE that are not in the file IN
missing() { awk 'FILENAME == ARGV[1] { there[$1]; next } NF && !($1 in there) { n++ } END { print n + 0 }' "$2" "$1"; }
lost=$(missing "$work/wanted" "$work/have")
# At most two other tasks are in the group: the shell, and the cat that reads the list.
strange=$(missing "$work/have" "$work/wanted")
echo "# $(wc -l <"$work/wanted") threads, $lost of them not listed, $strange others"
[ "$(wc -l <"$work/wanted")" = $crowd ] && [ "$lost" = 0 ] && [ "$strange" -le 2 ] && ! (echo 1 >g1/tasks_all) 2>/dev/null
result "R-50 tasks_all lists all of $crowd tasks and is read-only" $?
# cat writes the list with several write() calls. A call can end at any byte of the list, even within a number. The list ends with
# empty lines, as the text read from tasks_all does.
mkdir copy
lost=0
for ahead in "" ",,"; do
	{ printf %s "$ahead"; cat "$work/wanted"; awk 'BEGIN { while (n++ < 9000) print "" }'; } >"$work/list"
	echo $$ >tasks
	cat "$work/list" >copy/tasks || lost=$crowd
	cat copy/tasks_all >"$work/have"
	lost=$((lost + $(missing "$work/wanted" "$work/have") + $(missing "$work/have" "$work/wanted")))
	echo "# after '$ahead' $lost threads are amiss"
done
[ "$lost" = 0 ]
result "R-50 writing a list longer than a page to the file 'tasks' moves exactly the tasks in the list" $?
kill $all
wait $all 2>/dev/null
rmdir copy

echo $$ > tasks
rmdir g1/g2/g3 && rmdir g1/g2 && rmdir g1 && grep -qx $$ tasks
result "R-53 after moving back to the root, nested groups can be removed from the inside out" $?
exit $tap_failed
