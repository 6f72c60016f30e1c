#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_rdt.sh LOG READINGS COUNT: compares COUNT readings from the guest (rdt*.sh) with the reference log of the emulated
# processor (tools/rdt). A mark is a numbered point in the log; MARK is a mark that the walk made (cache_qos_walk.c). Readings:
#   occupancy READER L3 MARK BEFORE AFTER VALUE             read between marks BEFORE and AFTER; tolerance: one unit per L3
#   total|local READER L3 MARK FROM TO BEFORE AFTER VALUE [ROUNDING]
#                                                          at least the bytes from mark FROM to TO, at most those from BEFORE to AFTER,
#                                                          which differ by a sixteenth at most; tolerance: one unit and ROUNDING
#   class READER MARK VALUE                                class of service of the CPU that made the mark
#   writes READER CPU FROM TO VALUE                        number of writes of the CPU's PQR_ASSOC from mark FROM to TO
#   changes READER CPU FROM TO VALUE                       number of changes of the CPU's class of service from mark FROM to TO
set -u
awk -v readings="${3:-7}" '
	function report(good, text) {
		print (good ? "ok: " : "NOT OK: ") text
		failed = failed || !good
	}
	# value of an RMID at a mark, in one L3 or in all
	function at(kind, mark, l3, rmid,    i, sum) {
		if (l3 != "all")
			return bytes[kind, mark, l3, rmid] + 0
		for (i = 0; i < l3s; i++)
			sum += bytes[kind, mark, i, rmid]
		return sum + 0
	}
	function least(a, b) { return a < b ? a : b }
	function most(a, b) { return a > b ? a : b }
	function known(mark) {
		if (!(mark in rmid_of))
			report(0, "mark " mark " is not in the log")
		return mark in rmid_of
	}
	FNR == NR && $1 == "unit" { unit = $2 }
	FNR == NR && $1 == "mark" { now = $2; rmid_of[now] = $4; class_of[now] = $5; next }
	FNR == NR && $1 == "cpu" { writes[now, $2] = $5; changes[now, $2] = $6; next }
	FNR == NR && $1 == "end" { now = "end"; complete = 1; next }
	FNR == NR && $1 == "rmid" {
		l3s = most(l3s, $2 + 1)
		bytes["occupancy", now, $2, $3] = $4
		bytes["total", now, $2, $3] = $5
		bytes["local", now, $2, $3] = $6
		next
	}
	FNR == NR { next }
	$1 == "occupancy" && NF == 7 && known($4) && known($5) && known($6) {
		rmid = rmid_of[$4]
		a = at($1, $5, $3, rmid)
		b = at($1, $6, $3, rmid)
		slack = $3 == "all" ? unit * l3s : unit
		low = least(a, b) - slack
		high = most(a, b) + slack
		report(rmid > 0 && b > 0 && $7 >= low && $7 <= high, $2 ": occupancy " $7 ", RMID " rmid " has " a " and " b)
		checked++
		next
	}
	($1 == "total" || $1 == "local") && (NF == 9 || NF == 10) && known($4) && known($5) && known($6) && known($7) && known($8) {
		rmid = rmid_of[$4]
		low = at($1, $6, $3, rmid) - at($1, $5, $3, rmid)
		high = at($1, $8, $3, rmid) - at($1, $7, $3, rmid)
		slack = unit + $10
		report(rmid > 0 && low > 0 && $9 >= low - slack && $9 <= high + slack && high - low <= low / 16,
		       $2 ": " $1 " " $9 ", RMID " rmid " has moved " low " to " high)
		checked++
		next
	}
	$1 == "class" && NF == 4 && known($3) {
		report($4 != "" && class_of[$3] == $4, $2 ": class of service " $4 ", the CPU has " class_of[$3])
		checked++
		next
	}
	$1 == "changes" && NF == 6 && known($4) && known($5) {
		there = (($4, $3) in changes) && (($5, $3) in changes)
		seen = changes[$5, $3] - changes[$4, $3]
		report(there && seen == $6, $2 ": class of service of CPU " $3 " set " $6 " times, has changed " seen)
		checked++
		next
	}
	$1 == "writes" && NF == 6 && known($4) && known($5) {
		there = (($4, $3) in writes) && (($5, $3) in writes)
		seen = writes[$5, $3] - writes[$4, $3]
		report(there && seen == $6, $2 ": PQR_ASSOC of CPU " $3 " written " $6 " times, there were " seen)
		checked++
		next
	}
	{ report(0, "not a reading: " $0) }
	END {
		report(complete, "the log is complete")
		report(checked == readings, checked + 0 " readings of " readings)
		print "rdt: driver=cache_qos source=model readings=" checked + 0 " good=" (failed ? "no" : "yes")
		exit failed
	}' "$1" "$2"
