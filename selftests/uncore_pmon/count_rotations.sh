#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_rotations.sh LOG: checks the cost of multiplexing for the IMC units, from a log of the uncore model without other activity.
# When perf gives a counter to another event, the driver reads the counter, writes its control and reads it again; an event that
# returns to its counter costs two reads. The time that perf reports for the events advances during these accesses, and a frozen unit
# would count nothing meanwhile. So a rotation must make few accesses and freeze no unit.
set -eu
exec awk '
$2 == "reg" && $4 ~ /^6\./ {
	accesses[$4]++
	freezes[$4] += $3 == "W" && $5 == "0x0" && $7 ~ /[13579bdf]$/
	rotations[$4] += $3 == "W" && $5 ~ /^0x4[048c]$/ && $7 != "0x0"
}
END {
	for (unit in accesses) {
		printf "%s rotations=%d accesses=%d freezes=%d\n", unit, rotations[unit], accesses[unit], freezes[unit]
		units++
		# The first and the last event of a program need a few more accesses.
		bad += rotations[unit] < 100 || accesses[unit] > 6 * rotations[unit] || freezes[unit] > 10
	}
	printf "units=%d bad=%d end\n", units, bad
	exit !(units == 2 && !bad)
}' "$1"
