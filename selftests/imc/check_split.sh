#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_split.sh REPORT: succeeds if work_0, work_1 and work_2 have about 70, 20 and 10 % of the samples of these three functions.
# REPORT is the output of `pmukit report` or `perf report --stdio`; a line's share is its first percentage. The tolerance of up to 10
# percentage points suits a few hundred samples.
awk '{ n = 0; for (i = 1; i <= NF; i++) if ($i ~ /^[0-9.]+%$/) { n = $i + 0; break } }
	/work_0/ { a += n } /work_1/ { b += n } /work_2/ { c += n }
	END { sum = a + b + c; if (sum == 0) exit 1; a *= 100 / sum; b *= 100 / sum; c *= 100 / sum
	good = a > 60 && a < 80 && b > 10 && b < 30 && c > 4 && c < 18
	printf "# split=%s %.1f %.1f %.1f\n", good ? "right" : "wrong", a, b, c
	exit !good }' "$1"
