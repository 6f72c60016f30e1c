#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_rotations.sh LOG: what sharing counters costs the IMC units, from a log of the uncore model in which they did nothing else.
# Each time that perf gives a counter to another event it is read, its control is written, and it is read again; an event that
# comes back to its counter costs two reads. The accesses in between are time in which perf's clock of the events goes on, and a
# frozen unit counts nothing in all of it. So there are few of them, and nothing freezes.
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
		# The first and the last event of a program cost some more.
		bad += rotations[unit] < 100 || accesses[unit] > 6 * rotations[unit] || freezes[unit] > 10
	}
	printf "units=%d bad=%d end\n", units, bad
	exit !(units == 2 && !bad)
}' "$1"
