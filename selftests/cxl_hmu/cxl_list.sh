#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The distribution's own `cxl list` (ndctl) shows every CXL memory device, its hotness units loaded beside it, and prints
# no error.
. "$(dirname "$0")/hmu.sh"

command -v cxl >/dev/null || skip_all "no cxl command"
# Without a CXL root in front of it a device counts as idle (-i).
pmu_of_device 0 >/dev/null || skip_all "no CXL memory function with a PMU"

plan 3
cxl list -M -v -i >"$work/memdevs" 2>"$work/errors"
result "cxl list succeeds" $?
sed 's/^/# /' "$work/memdevs" "$work/errors"
[ ! -s "$work/errors" ]
result "cxl list prints no error" $?
listed=0
for mem in /sys/bus/cxl/devices/mem*; do
	grep -q "\"memdev\":\"${mem##*/}\"" "$work/memdevs" || listed=1
done
result "each memory device is listed" $listed
exit $tap_failed
