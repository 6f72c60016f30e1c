#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# faults_covered.sh PMUKIT-MODEL DRIVER TAP: succeeds if the file TAP has, for each fault of the driver's model, a passed test that is
# named after the fault. PMUKIT-MODEL is the program that lists the faults.
set -eu
missing=0 faults=0
for fault in $("$1" --list-faults | awk -v driver="$2" '$1 == driver { print $2 }'); do
	faults=$((faults + 1))
	grep -q "^ok .*fault\.$(echo "$fault" | tr - _)\." "$3" || { echo "missing: $fault"; missing=1; }
done
echo "faults=$faults all_tried=$([ $missing = 0 ] && [ $faults -gt 0 ] && echo yes || echo no)"
exit $missing
