#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_perf_stat.sh TAP LOG [PORT...]: compares the counts that perf_stat.sh saw in the guest with the expected counts from the
# model's log (count_accesses.sh). For each event of a unit, perf and the log have the counts in the same order; after them, the log may
# have counts of other programs. Values in MiB must agree within their rounding.
set -eu
here=$(dirname "$0")
tap=$1
shift
"$here/count_accesses.sh" "$@" >"${TMPDIR:-/tmp}/check.$$"
trap 'rm -f "${TMPDIR:-/tmp}/check.$$"' EXIT
awk '
BEGIN {
	type["imc"] = 6; type["cxlcm"] = 12; type["cxldp"] = 13; type["b2cxl"] = 17
	control["cas_count_read"] = "0xcf05"; control["cas_count_write"] = "0xf005"
	control["rxc_pack_buf_inserts_mem_data"] = "0x1041"; control["txc_pack_buf_inserts_mem_data"] = "0x1002"
}
# First input, expected counts: <type>.<id> <counter> <control> <count>
FNR == NR {
	if (NF == 4)
		logged[$1 " " $3, ++nr[$1 " " $3]] = $4
	next
}
# Returns the units that a PMU name stands for: one unit for uncore_imc_0 or uncore_type_6_0, all units of the type without a number.
function units_of(pmu,    part, n) {
	n = split(pmu, part, "_")
	if (part[2] == "type")
		return part[3] "." part[4]
	return n == 3 ? type[part[2]] "." part[3] : type[part[2]] ".0 " type[part[2]] ".1"
}
function control_of(terms,    event, umask) {
	if (terms in control)
		return control[terms]
	if (!match(terms, /event=0x[0-9a-f]+/))
		return ""
	event = substr(terms, RSTART + 8, RLENGTH - 8)
	match(terms, /umask=0x[0-9a-f]+/)
	umask = substr(terms, RSTART + 8, RLENGTH - 8)
	sub(/^0+/, "", umask)
	return "0x" umask event
}
# Second input, output of perf: # <count> [<unit>] <pmu>/<terms>/ ...
/^# [0-9.]+ / {
	for (i = 3; i <= NF && $i !~ /^uncore_.*\//; i++)
		;
	split($i, event, "/")
	if (i > NF || !(what = control_of(event[2])))
		next
	counted = 0
	units = split(units_of(event[1]), unit, " ")
	for (u = 1; u <= units; u++) {
		key = unit[u] " " what
		counted += logged[key, ++seen[key]]
		missing += seen[key] > nr[key]
	}
	lines = index($0, "MiB") ? counted / 16384 : counted
	figures++
	if (lines - $2 > 0.005 || $2 - lines > 0.005) {
		wrong++
		print "perf: " $2 " " $i ", log: " lines
	}
}
END {
	printf "figures=%d wrong=%d missing=%d end\n", figures, wrong, missing
	exit !(figures >= 20 && !wrong && !missing)
}' "${TMPDIR:-/tmp}/check.$$" "$tap"
