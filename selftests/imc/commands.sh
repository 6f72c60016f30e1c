#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs the commands that Documentation/arch/powerpc/imc.rst of Linux shows, with the distribution's perf.
. "$(dirname "$0")/tap.sh"
sysfs=/sys/bus/event_source/devices
cd "$work" || exit 1

command -v perf >/dev/null || skip_all "no perf"
[ -d $sysfs/trace_imc ] || skip_all "no trace_imc"
plan 18

# counts FILE [COLUMN]: prints COLUMN (default: the first) of each line of the output of perf stat -x, even "<not counted>"
counts() { grep -v '^#' "$1" | grep . | cut -d' ' -f"${2:-1}"; }
all_positive() { awk '!($1 > 0) { bad = 1 } END { exit !NR || bad }'; }
show() { sed 's/^/# /' "$1" | head -n "${2:-30}"; }

perf list 2>/dev/null >list
for event in nest_mcs01_imc/PM_MCS01_128B_RD_DISP_PORT01/ nest_mcs01_imc/PM_MCS01_128B_RD_DISP_PORT23/ \
	core_imc/CPM_0THRD_NON_IDLE_PCYC/ core_imc/CPM_1THRD_NON_IDLE_INST/ \
	thread_imc/CPM_0THRD_NON_IDLE_PCYC/ thread_imc/CPM_1THRD_NON_IDLE_INST/ trace_imc/trace_cycles/; do
	grep -qi "$event" list || { echo "# perf list has no $event"; missing=1; }
done
[ -z "${missing:-}" ]
result "perf list shows events of all four imc PMUs" $?

perf stat -x ' ' -e "nest_mcs01_imc/PM_MCS01_128B_WR_DISP_PORT01/" -a --per-socket -- imc_load faults 2000 2>nest
show nest
counts nest 3 | all_positive && [ "$(grep -c '^S[0-9]' nest)" -ge 1 ]
result "perf stat -a --per-socket counts a nest event on each socket" $?

[ "$(cat $sysfs/nest_mcs01_imc/alias 2>/dev/null)" = nest_mcs01 ]
result "nest_mcs01_imc has the alias nest_mcs01, its name in old documents" $?

# perf since 6.6 also accepts the alias as the name of the PMU.
case $(uname -r) in
6.1.*) true ;;
*) perf stat -x ' ' -e "nest_mcs01/PM_MCS01_128B_WR_DISP_PORT01/" -a -- imc_load faults 2000 2>alias
	show alias
	counts alias | all_positive ;;
esac
result "perf since 6.6 counts with the alias as the PMU name" $?

# The events of perf's metric mcs01-read for POWER9, spelled as in the metric.
mcs01=nest_mcs01_imc/PM_MCS01_128B_RD_DISP_PORT
perf stat -x ' ' -e "${mcs01}01/,${mcs01}23/" -a -- imc_load faults 2000 2>metric
show metric
[ "$(counts metric | grep -c '^[0-9]*$')" = 2 ] && counts metric | head -n 1 | all_positive
result "perf stat counts the events of the metric mcs01-read of POWER9" $?

# CPM_CCYC counts for a second or more at 1 GHz; without the scale in the catalog the count would be 1/512 of that.
perf stat -x ' ' -e core_imc/CPM_CCYC/ -C 0 -- sleep 1 2>scaled
show scaled
counts scaled | awk '{ exit !($1 >= 1e9 && $1 < 1e11) }'
result "perf stat multiplies a count by the scale in the catalog" $?

# Prints the names in events/ that perf's test "PMU event names" would reject; works for perf releases without this test, too.
two_cases() { ls $sysfs/*_imc/events | grep '[A-Z].*[a-z]\|[a-z].*[A-Z]\|[^A-Za-z0-9._:/-]' | grep -v ':$'; }
perf_names() {
	perf test list 2>&1 | grep -q "PMU event names" || return 0
	perf test "PMU event names" >names 2>&1
	show names
	grep -q 'PMU event names *: Ok' names
}
[ -z "$(two_cases)" ] && perf_names
result "the event names pass perf's test of PMU event names" $?

perf stat -x ' ' -e "core_imc/CPM_NON_IDLE_INST/" -C 0 -I 1000 -- imc_load busy 2500 2>core
show core
awk '/core_imc/ { n++; for (i = 1; i < 4; i++) if ($i ~ /^[0-9]+$/ && $i > 0) good++ } END { exit !(n >= 2 && good >= n) }' core
result "perf stat -C 0 -I 1000 counts a core event in each interval" $?

perf stat -x ' ' -e "thread_imc/CPM_NON_IDLE_PCYC/" -- imc_load busy 500 2>thread
show thread
counts thread | all_positive
result "perf stat counts a thread event of a program" $?

# Like make, the shell starts several programs, each of which inherits the event. The host may stop the CPU between the reads of the
# two clocks; the programs work for three seconds, so that the length of a stop is only a small part of the counts.
agrees_with_task_clock() {
	perf stat -x ' ' -e "thread_imc/CPM_ENGINE_TASK_CLOCK/,task-clock" -- sh -c \
		'for i in $(seq 10); do imc_load faults 500; imc_load busy 300; done' 2>make
	show make
	counts make | awk '{ n[NR] = $1 } END { exit !(NR == 2 && n[1] > n[2] * 0.9 && n[1] < n[2] * 1.1) }'
}
agrees_with_task_clock
result "perf stat of a shell that starts programs: the thread event is within 10 % of task-clock" $?

perf record -q -o busy.data -e trace_imc/trace_cycles/ -- imc_load split 4000 >record 2>&1
result "perf record -e trace_imc/trace_cycles/ succeeds" $?
show record

perf report --stdio -i busy.data --sort comm,dso >report 2>&1
show report
grep -q imc_load report
result "perf report --stdio shows the name of the recorded program" $?

perf report --stdio -i busy.data --sort symbol >symbols 2>&1
show symbols
"$(dirname "$0")/check_split.sh" symbols
result "perf report --stdio shows the functions of the program with their shares of its work" $?

perf record -q -a -o all.data -e trace_imc/trace_cycles/ -- imc_load split 2000 >record 2>&1
perf report --stdio -i all.data --sort comm 2>/dev/null | grep -q imc_load
result "the file of perf record -a has samples of the program" $?

perf record -q -R -a -o raw.data -e trace_imc/trace_cycles/ -- imc_load split 500 >record 2>&1 &&
	perf script -i raw.data -F comm,pid,cpu,ip 2>/dev/null | grep -q imc_load
result "the file of perf record -R -a has samples of the program" $?

# pmi prints how many interrupts the processor's performance counters caused; trace_imc must cause none. ticks prints how many ticks the
# software engine has run, from the engine's reference counters.
pmi() { grep -E '^ *(PMI|PMU)|arm-pmu' /proc/interrupts; }
ticks() { cat /sys/kernel/debug/imc_engine/cpu[0-9]* | awk '$1 == "ticks" { n += $2 } END { print n + 0 }'; }
pmi >before
first=$(ticks)
imc_load split 200000 &
load=$!
# perf top exits at the end of its standard input, so it reads from a FIFO that stays open. It takes time to start.
mkfifo keys
exec 3<>keys
TERM=dumb perf top --stdio -e trace_imc/trace_cycles/ <keys >top 2>&1 &
top=$!
for _ in $(seq 150); do
	! grep -q work_0 top || break
	sleep 1
done
kill $top $load
wait $top $load 2>/dev/null
pmi >after
show top 12
grep -q work_0 top
result "perf top shows the functions of a running program" $?
cmp -s before after
result "perf top with trace_imc causes no performance monitoring interrupts" $?
[ "$(ticks)" -gt "$first" ] && grep -q stands /sys/devices/imc_engine/model
result "the ticks counted by imc_engine increase, and its file model in sysfs says that it is a model" $?
exit $tap_failed
