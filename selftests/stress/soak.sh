#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# soak.sh SECONDS: runs tests of all drivers in parallel, repeatedly. In each round the tests of a
# driver compare their counts or records with the work done or with the reference counters of the
# simulated device: they must be equal to the byte, except for reported losses. At the end the
# kernel must use as much memory as after the first rounds.
. "$(dirname "$0")/tap.sh"
seconds=${1:-60}
drivers="cache_qos cxl_hmu hisi_ptt imc uncore_pmon"
slack_kb=4096

cache_qos() { cache_qos_test -t R_43_task_occupancy_equals_the_reference_and_is_0_after_eviction -t R_30_traffic_of_a_task_equals_the_reference; }
cxl_hmu() { cxl_hmu_test -t counts_equal_the_accesses -t next_run_has_no_accesses_from_before_its_enable; }
hisi_ptt() { hisi_ptt_test -t aux_area_has_every_store -t samples_have_every_store; }
imc() { imc_trace_test -t delivers_each_record; }
uncore_pmon() { uncore_pmon_test -t counts_loads_and_stores_of_its_own_memory -t counts_group_events_exactly; }

# until_second DRIVER WHEN: runs rounds of a driver's tests, at least one, until the time WHEN (in seconds) or until a round fails; keeps
# the output of a failed round.
until_second() {
	rounds=0
	while [ "$rounds" = 0 ] || [ "$(date +%s)" -lt "$2" ]; do
		"$1" >"$work/$1.said" 2>&1 || { mv "$work/$1.said" "$work/$1.failed"; break; }
		rounds=$((rounds + 1))
	done
	echo $rounds >"$work/$1.rounds"
}

all_until() {
	for driver in $drivers; do until_second "$driver" "$1" & done
	wait
}

# Prints the memory of the kernel itself in KiB, without programs and files.
kernel_memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	awk '/^(SUnreclaim|KernelStack|PageTables|Percpu|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo
}

plan 6
all_until 0
before=$(kernel_memory)
all_until $(($(date +%s) + seconds))
for driver in $drivers; do
	[ ! -e "$work/$driver.failed" ]
	result "$driver: all $(cat "$work/$driver.rounds") rounds of its tests pass" $?
	[ ! -e "$work/$driver.failed" ] || sed 's/^/# /' "$work/$driver.failed"
done
after=$(kernel_memory)
[ $((after - before)) -le $slack_kb ]
result "kernel memory grows by $slack_kb KiB at most: $before KiB before, $after KiB after $seconds s" $?
exit $tap_failed
