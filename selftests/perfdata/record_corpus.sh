#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_corpus.sh: makes a small recording with stock perf for each set of options below, in $out/corpus. Prints the names of
# recordings that this perf or kernel cannot make; fails if there are too few recordings. `make corpus` stores the recordings in
# tools/perfdata/testdata. If the PMU trace_imc exists, the script makes only recordings of this PMU.
out=${OUT:-/out}
[ -d "$out" ] || out=$(mktemp -d)
# perf writes to this folder first, because the file system shared with the host rejects writes directly from perf's ring.
work=$(mktemp -d)
cd "$work" || exit 1
made=0

cat >load <<'LOAD'
#!/bin/sh
i=0
while [ $i -lt 400 ]; do i=$((i + 1)); done
/bin/busybox true
/bin/busybox head -c 200000 /dev/zero >/dev/null
( : )
exit 0
LOAD
chmod 755 load

# keep NAME: copies NAME.data, a file or a folder, to the corpus, unless it is empty.
keep() {
	if [ -s "$1.data" ] && cp -r "$1.data" "$out/corpus/" 2>/dev/null; then
		made=$((made + 1))
		return
	fi
	echo "# refused: $1: $(head -n 1 "$1.said" 2>/dev/null)"
}
# rec NAME RECORD-OPTION...: records the load with these options of perf record.
rec() {
	name=$1
	shift
	timeout 60 perf record -N -o "$name.data" "$@" -- ./load >"$name.said" 2>&1 || rm -rf "$name.data"
	keep "$name"
}
# piped NAME RECORD-OPTION...: records the load with these options, in the pipe layout of perf.data.
piped() {
	name=$1
	shift
	timeout 60 perf record -N -o - "$@" -- ./load 2>"$name.said" >"$name.data" || rm -f "$name.data"
	keep "$name"
}

# finish AT_LEAST: prints the result of the test, which passes if there are at least AT_LEAST recordings, and exits
finish() {
	perf --version >"$out/corpus/version"
	echo "TAP version 13"
	echo "1..1"
	[ $made -ge "$1" ] || printf 'not '
	echo "ok 1 $made recordings"
	[ $made -ge "$1" ]
	exit
}

mkdir -p "$out/corpus" /sys/fs/cgroup
if [ -d /sys/bus/event_source/devices/trace_imc ]; then
	# imc NAME RECORD-OPTION...: records a program that calls three functions.
	imc() {
		name=$1
		shift
		timeout 60 perf record -N -o "$name.data" -e trace_imc/trace_cycles/ "$@" -- imc_load split 150 >"$name.said" 2>&1 ||
			rm -rf "$name.data"
		keep "$name"
	}
	imc imc_command
	imc imc_all_cpus -a
	imc imc_payload -R
	imc imc_no_inherit -i
	imc imc_compressed -R -z
	finish 4
fi

clock="-e cpu-clock -F 499"
faults="-e page-faults -c 3"
switches="-e sched:sched_switch -e sched:sched_process_exec"
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
mkdir -p /sys/fs/cgroup/corpus

rec cpu_clock $clock
rec task_clock_period -e task-clock -c 2000000
rec callchain $clock -g
rec callchain_user_only $clock -g --user-callchains
rec callchain_dwarf -e cpu-clock -F 99 --call-graph dwarf,256
rec callchain_deferred $clock --call-graph fp,defer
rec user_registers $clock --user-regs=ip,sp
rec user_registers_arm64 $clock --user-regs=pc,sp,lr
rec interrupt_registers $clock --intr-regs=ip,sp
rec interrupt_registers_arm64 $clock --intr-regs=pc,sp
rec addresses $faults -d
rec physical_addresses $faults -d --phys-data
rec page_sizes $faults -d --data-page-size --code-page-size
rec data_mmaps $faults -d --data-mmap
rec weight $faults -d -W
rec transaction $clock --transaction
rec all_cpus $clock -a
rec one_cpu $clock -C 0 --sample-cpu
rec per_thread $clock --per-thread
rec no_inherit $clock -i
rec no_samples $clock -n
rec switch_events $clock --switch-events
rec switch_events_all $clock --switch-events -a
rec context_switches -e context-switches -c 1 -a
rec namespaces $clock --namespaces
rec cgroups $clock --all-cgroups -a
rec in_a_cgroup $clock -a -G corpus
rec clock_monotonic $clock -k CLOCK_MONOTONIC
rec clock_monotonic_raw $clock -k mono_raw
rec three_events -e cpu-clock,page-faults,context-switches -F 499
rec different_fields -e cpu-clock/call-graph=fp,freq=199/,page-faults/call-graph=no,period=5/ --sample-identifier
rec group_read -e '{cpu-clock,page-faults,context-switches}:S' -F 499
rec group_read_times -e '{cpu-clock,page-faults}:S' -F 499 --running-time
rec read_at_exit $clock -s
rec period_and_time $clock -P -T --sample-identifier
rec user_and_kernel -e cpu-clock:u,cpu-clock:k -F 499
rec delayed $clock -D 20
rec tracepoints $switches -a
rec tracepoints_raw $switches -R -a
rec tracepoint_filtered -e sched:sched_process_exec --filter 'pid > 1' -a
rec compressed $clock -g -z
rec compressed_most $switches -a -R -z=19
rec no_build_ids $clock -B
rec build_ids_in_mmaps $clock --buildid-mmap
rec overwrite $clock --overwrite
rec tail_synthesized $clock --overwrite --tail-synthesize
rec no_synthesis $clock --synth no
rec time_boundary $clock --timestamp-boundary
rec threads $clock -a --threads
rec threads_compressed $clock -a --threads -z
rec latency $clock --latency
rec memory_info $faults -d --sample-mem-info
rec cycles -e cycles -F 499
rec cycles_and_instructions -e '{cycles,instructions}:S' -F 499
rec branches $clock -b
rec one_page_ring $clock -m 1
rec asynchronous $clock --aio
rec realtime $clock -r 1
rec duplicate_event -e cpu-clock -e cpu-clock -F 499
rec raw_samples $clock -R
piped pipe $clock
piped pipe_callchain $clock -g
piped pipe_compressed $clock -g -z
piped pipe_tracepoints $switches -a -R
piped pipe_three_events -e cpu-clock,page-faults,context-switches -F 499
piped pipe_cgroups $clock --all-cgroups -a

timeout 60 perf stat record -o stat.data -e cpu-clock,page-faults ./load >stat.said 2>&1
keep stat
timeout 60 perf stat record -o stat_intervals.data -e cpu-clock -a -I 50 -- sleep 0.2 >stat_intervals.said 2>&1
keep stat_intervals
timeout 60 perf sched record -N -o sched.data -- ./load >sched.said 2>&1
keep sched
timeout 60 perf sched stats record -o schedstat.data -- ./load >schedstat.said 2>&1
keep schedstat
timeout 60 perf trace record -o trace.data -- /bin/busybox true >trace.said 2>&1
keep trace
perf inject -b -i cpu_clock.data -o injected_build_ids.data >injected_build_ids.said 2>&1
keep injected_build_ids
perf inject -s -i context_switches.data -o injected_sched.data >injected_sched.said 2>&1
keep injected_sched

# A killed recorder leaves the data size in the header at 0.
perf record -N -o killed.data $clock -a -- sleep 60 >killed.said 2>&1 &
recorder=$!
sleep 3
kill -KILL $recorder
wait $recorder 2>/dev/null
keep killed

pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
if [ -n "$pmu" ]; then
	out8="$pmu/filter=0x80001,type=1,direction=1,format=1/"
	out4="$pmu/filter=0x80001,type=7,direction=0,format=0/"
	# ptt NAME RECORD-OPTION...: records packets.
	ptt() {
		name=$1
		shift
		timeout 60 perf record -N -o "$name.data" "$@" -- pcie_load --function 01:00.0 --writes 60 --reads 20 --width 4 \
			>"$name.said" 2>&1 || rm -rf "$name.data"
		keep "$name"
	}
	ptt ptt_8dw -a -e "$out8" -R
	ptt ptt_4dw -a -e "$out4" -R
	ptt ptt_no_build_ids -a -B -e "$out8" -R
	ptt ptt_beside_clock -a -e "$out8" -e cpu-clock -F 99 -R
	ptt ptt_compressed -a -e "$out8" -R -z
	ptt ptt_overwrite -a -e "$out4" -R --overwrite
	ptt ptt_one_cpu -C 0 -e "$out4" -R
	ptt ptt_small_ring -a -e "$out8" -R -m 1,1
	ptt ptt_switches -a -e "$out4" -R --switch-events
	timeout 60 perf record -N -o - -a -e "$out8" -R -- pcie_load --function 01:00.0 --writes 60 --width 4 \
		2>ptt_pipe.said >ptt_pipe.data
	keep ptt_pipe
fi
finish 40
