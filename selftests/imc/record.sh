#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The same work recorded by pmukit, in the AUX area: explained by it, and turned into samples for stock perf.
. "$(dirname "$0")/tap.sh"
cd "$work" || exit 1

for program in pmukit perf; do
	command -v $program >/dev/null || skip_all "no $program"
done
[ -d /sys/bus/event_source/devices/trace_imc ] || skip_all "no trace_imc"
plan 5

show() { sed 's/^/# /' "$1" | head -n "${2:-30}"; }
# split FILE: shares of work_0, work_1 and work_2, by the first percentage of their lines, are near 70, 20 and 10
split() {
	awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+%$/) { n = $i + 0; break } }
		/work_0/ { a += n } /work_1/ { b += n } /work_2/ { c += n }
		END { sum = a + b + c; if (sum == 0) exit 1; a *= 100 / sum; b *= 100 / sum; c *= 100 / sum
		print "# " a " " b " " c
		exit !(a > 60 && a < 80 && b > 10 && b < 30 && c > 4 && c < 18) }' "$1"
}

pmukit record --source model -e trace_imc/trace_cycles/ -o aux.data -- imc_load split 4000 >said 2>&1
result "pmukit record" $?
show said

pmukit report -i aux.data --kallsyms /proc/kallsyms >report 2>&1
result "pmukit report reads all of it" $?
show report
split report
result "pmukit report names its functions" $?

pmukit inject -i aux.data -o plain.data >said 2>&1
result "pmukit inject" $?
show said
perf report --stdio -i plain.data --sort symbol >symbols 2>&1
show symbols
split symbols
result "perf report names the functions of what was injected" $?
exit $tap_failed
