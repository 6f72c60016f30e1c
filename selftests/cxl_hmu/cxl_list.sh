#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# With cxl_hmu loaded, `cxl list` of the distribution (ndctl) shows every CXL memory device and prints no error.
. "$(dirname "$0")/hmu.sh"

command -v cxl >/dev/null || skip_all "no cxl command"
# cxl list treats a memory device without a CXL root port as idle, and shows idle devices only with -i.
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
result "cxl list shows each memory device" $listed
exit $tap_failed
