#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# exact_record.sh: makes a known number of stores; each recorder must get each store, or the driver must count the store as lost.
# PMUKIT_ROUNDS: number of rounds, default 1. Failed rounds are not repeated.
. "$(dirname "$0")/tap.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt0_2$')
[ -n "$pmu" ] || skip_all "no hisi_ptt0_2"
event="$pmu/filter=0x80001,type=1,direction=1,format=1/"
rounds=${PMUKIT_ROUNDS:-1} writes=${PMUKIT_WRITES:-300000}
load="pcie_load --function 01:00.0 --writes $writes"

stat_of() { cat "/sys/kernel/debug/pmukit/$pmu/$1"; }
tlps_of() { pmukit report --json -i "$1" | tr -d ' ' | tr ',' '\n' | sed -n 's/^"tlps":\([0-9]*\)$/\1/p' | head -n 1; }

# Each by_* function records the load, sets $got to the number of recorded stores, and succeeds if the recorder succeeds.
by_pmukit() { pmukit record -e "$event" -o "$work/data" -- $load && got=$(tlps_of "$work/data"); }
by_perf_stat() { perf stat -x, -a -e "$event" -o "$work/stat" -- $load && got=$(grep hisi_ptt "$work/stat" | cut -d, -f1); }
by_perf_samples() { perf record -R -a -e "$event" -o "$work/data" -- $load && got=$(tlps_of "$work/data"); }
by_perf_aux() { perf record -a -e "$event" -o "$work/data" -- $load && got=$(tlps_of "$work/data"); }

# exact NAME RECORDER: prints the result of a test that calls the function RECORDER in each round
exact() {
	good=0
	for round in $(seq "$rounds"); do
		before=$(stat_of lost) overruns=$(stat_of overflows) got=0
		"$2" >"$work/said" 2>&1 || { sed 's/^/# /' "$work/said"; continue; }
		lost=$(($(stat_of lost) - before))
		echo "# $1: $got of $writes, $lost lost"
		[ "$(stat_of overflows)" = "$overruns" ] && [ $((got + lost)) = "$writes" ] && good=$((good + 1))
	done
	[ $good = "$rounds" ]
	result "$1: recorded and lost stores add up to all stores in $good of $rounds rounds" $?
}

plan 3
exact "pmukit record" by_pmukit
exact "perf stat" by_perf_stat
# perf built for arm64 maps an AUX area; other builds take samples.
if [ "$(uname -m)" = aarch64 ]; then
	exact "perf record, AUX area" by_perf_aux
else
	exact "perf record -R" by_perf_samples
fi
exit $tap_failed
