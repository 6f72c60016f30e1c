#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_writes.sh LOG FROM TO [UNIT]: fails if a log of the uncore model has register writes between the marks FROM and TO. UNIT
# (<type>.<id>) limits the check to writes to this unit; otherwise writes to any unit or global control fail. A mark is a 1-byte load of
# counted memory, at the offset that is the mark's number; other loads are wider.
set -eu
exec awk -v from="$2" -v to="$3" -v unit="${4-}" '
function number(hex,    i, value) {
	value = 0
	for (i = 3; i <= length(hex); i++)
		value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return value
}
$2 == "ddr" && $3 == "R" && $5 == 1 {
	inside = number($4) == from || (inside && number($4) != to)
	marks += number($4) == from || number($4) == to
}
$3 == "W" && (unit == "" ? $2 == "reg" || $2 == "global" : $2 == "reg" && $4 == unit) {
	all++
	if (inside) {
		print
		writes++
	}
}
END {
	printf "marks=%d writes=%d of %d end\n", marks, writes, all
	exit !(marks == 2 && all && !writes)
}' "$1"
