#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# pmukit records known work in the AUX area, reports the recording, and converts it into samples for stock perf. The script copies the
# recording and the program to $out, so that `pmukit report` can show functions on the host: in the guest, pmukit has no ELF library.
. "$(dirname "$0")/tap.sh"
out=${OUT:-/out}
[ -d "$out" ] || out=$work
cd "$work" || exit 1

for program in pmukit perf; do
	command -v $program >/dev/null || skip_all "no $program"
done
[ -d /sys/bus/event_source/devices/trace_imc ] || skip_all "no trace_imc"
plan 4

show() { sed 's/^/# /' "$1" | head -n "${2:-30}"; }

pmukit record --source model -e trace_imc/trace_cycles/ -o aux.data -- imc_load split 4000 >said 2>&1
result "pmukit record records trace_imc in an AUX area" $?
show said

pmukit report -i aux.data --kallsyms /proc/kallsyms >report 2>&1
result "pmukit report reads the whole recording" $?
show report
mkdir -p "$out/symfs/usr/bin" && cp aux.data "$out" && cp "$(command -v imc_load)" "$out/symfs/usr/bin"

pmukit inject -i aux.data -o plain.data >said 2>&1
result "pmukit inject converts the recording for perf" $?
show said
perf report --stdio -i plain.data --sort symbol >symbols 2>&1
show symbols
"$(dirname "$0")/check_split.sh" symbols
result "perf report shows the functions of the converted recording with their shares of the work" $?
exit $tap_failed
