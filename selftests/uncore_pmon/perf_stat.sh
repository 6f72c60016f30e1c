#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf_stat.sh exact: the distribution's perf counts the memory accesses of a program exactly.
# perf_stat.sh shared: perf multiplexes more events than counters. The clock of the guest must not depend on the host's load.
. "$(dirname "$0")/tap.sh"
sysfs=/sys/bus/event_source/devices
uncore=00:18.0
expander=01:00.0

command -v perf >/dev/null || skip_all "no perf"
[ -d $sysfs/uncore_imc_0 ] || skip_all "no uncore_imc_0"

# counted EVENTS -- COMMAND...: runs COMMAND under perf stat; the machine-readable output goes to $work/stat
counted() {
	perf stat -x ' ' -a -e "$@" 2>"$work/stat" >"$work/said" || cat "$work/stat" "$work/said" | sed 's/^/# /'
	sed 's/^/# /' "$work/stat"
}

# has COUNT EVENT: succeeds if perf printed the event with this count. The other columns are the unit, times and shares.
has() {
	awk -v wanted="$1" -v event="$2" '$1 == wanted && index($0, event) { found = 1 } END { exit !found }' "$work/stat"
}

ddr() { echo "uncore_load --function $uncore --bar 4 --bytes 0x100000 $*"; }
cxl() { echo "uncore_load --function $expander --bar 2 --bytes 0x100000 $*"; }

reads=uncore_imc_0/event=0x05,umask=0xcf/
writes=uncore_imc_0/event=0x05,umask=0xf0/

if [ "$1" = shared ]; then
	plan 1
	# Open two more events than the unit has counters, in an order that gives each counter to another event at every rotation. The
	# program runs on the CPU that rotates the events, at a constant rate. 2 s are 500 rotations.
	all=uncore_imc_0/event=0x05,umask=0xff/
	# shellcheck disable=SC2046
	counted "$reads,$reads,$writes,$writes,$all,$all" -- \
		taskset -c "$(cat $sysfs/uncore_imc_0/cpumask)" $(ddr --reads 4000 --writes 4000 --every-us 500)
	# Columns: count unit event time-running share
	awk '/umask=0x/ { n++; shared += $NF < 100 || $(NF - 1) < 100; due = /umask=0xff/ ? 8000 : 4000
			low += $1 < 0.95 * due; high += $1 > 1.05 * due }
		END { printf "# %d events, %d shared, %d too low, %d too high\n", n, shared, low, high
			exit !(n == 6 && shared == 6 && !low && !high) }' "$work/stat"
	result "with two more events than counters, all scaled counts are within 5 %" $?
	exit $tap_failed
fi

plan 9
# shellcheck disable=SC2046
counted $reads,$writes -- $(ddr --reads 2500 --writes 1300)
has 2500 $reads && has 1300 $writes
result "raw events count loads and stores of DDR memory" $?

counted uncore_imc_1/event=0x05,umask=0xff/,$reads -- $(ddr --reads 40 --offset 0x100000)
has 40 uncore_imc_1/ && has 0 $reads
result "each memory controller counts only accesses to its own memory" $?

# 16384 cache lines of 64 bytes are one MiB.
counted uncore_imc_0/cas_count_read/,uncore_imc_0/cas_count_write/ -- $(ddr --reads 16384 --writes 8192)
has 1.00 uncore_imc_0/cas_count_read/ && has 0.50 uncore_imc_0/cas_count_write/
result "named events count reads and writes of DDR memory in MiB" $?

counted "{$reads,$writes,uncore_imc_0/event=0x05,umask=0xff/,uncore_imc_0/event=0x05,umask=0xcf,edge=0/}" -- \
	$(ddr --reads 600 --writes 300)
has 600 $reads && has 300 $writes && has 900 umask=0xff
result "a group of four events counts exactly" $?

counted uncore_cxlcm_0/event=0x02,umask=0x08/,uncore_cxlcm_0/event=0x02,umask=0x10/,uncore_cxlcm_0/event=0x41,umask=0x10/ -- \
	$(cxl --reads 700 --writes 200)
has 700 event=0x02,umask=0x08 && has 200 event=0x02,umask=0x10 && has 700 event=0x41,umask=0x10
result "raw events of cxlcm count requests and data of a CXL link" $?

counted uncore_cxlcm_0/rxc_pack_buf_inserts_mem_data/,uncore_cxlcm_0/txc_pack_buf_inserts_mem_data/ -- \
	$(cxl --reads 16384 --writes 8192)
has 1.00 rxc_pack_buf_inserts_mem_data && has 0.50 txc_pack_buf_inserts_mem_data
result "named events of cxlcm count data of a CXL link in MiB" $?

counted uncore_cxldp_0/event=0x02,umask=0x10/,uncore_cxldp_0/event=0x02,umask=0x20/,uncore_b2cxl_0/event=0x24,umask=0x04/ -- \
	$(cxl --reads 500 --writes 100)
has 500 uncore_cxldp_0/event=0x02,umask=0x10 && has 100 uncore_cxldp_0/event=0x02,umask=0x20 && has 500 uncore_b2cxl_0/
result "events of cxldp and b2cxl count traffic of the CXL link" $?

counted uncore_type_6_0/event=0x05,umask=0xcf/ -- $(ddr --reads 77)
has 77 umask=0xcf
result "perf accepts the alias of the PMU, uncore_type_6_0" $?

counted uncore_imc/event=0x05,umask=0xcf/ -- $(ddr --reads 50)
grep -q '^50 .*uncore_imc' "$work/stat"
result "the PMU name uncore_imc selects all memory controllers" $?

exit $tap_failed
