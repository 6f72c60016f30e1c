#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# near_node.sh NODE: assigns the hisi_ptt devices to that NUMA node, as firmware does on a real machine.
. "$(dirname "$0")/tap.sh"

set -- "$1" /sys/bus/pci/drivers/hisi_ptt/0000:*/numa_node
node=$1
shift
[ -e "$1" ] || skip_all "no device of hisi_ptt"
plan $#
for file in "$@"; do
	echo "$node" >"$file" && [ "$(cat "$file")" = "$node" ]
	result "${file%/numa_node} can be assigned to NUMA node $node" $?
done
exit $tap_failed
