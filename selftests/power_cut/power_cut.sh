#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# power_cut.sh KEEP: records with --interval 1,KEEP on the disk /dev/vda, whose writes and flushes QEMU logs. For check_power_cuts.sh:
# copies each recording to $out as soon as `pmukit record` reports it complete, and then writes its number as a mark to the disk. The
# file system delays all writes that nothing syncs, and does not order data before metadata: only the syncs of `pmukit record` count.
. "$(dirname "$0")/tap.sh"
keep=$1 disk=$work/disk out=${OUT:-/out}/power_cut
mkdir -p "$disk" "$out"
plan 4

# mark NUMBER: overwrites a block of the disk, without its file system's journal or a flush
mark() { echo "power-cut mark $1" | dd of="$disk/mark" bs=4096 count=1 conv=notrunc,sync oflag=direct 2>/dev/null; }

echo 60000 >/proc/sys/vm/dirty_writeback_centisecs
mount -t ext4 -o data=writeback,commit=300 /dev/vda "$disk" &&
	dd if=/dev/zero of="$disk/mark" bs=4096 count=1 2>/dev/null && sync && mark 0
result "the disk has a file system and a block for marks" $?

{
	pmukit record --interval "1,$keep" --source model -a -e trace_imc/trace_cycles/ -o "$disk/run" -- imc_load split 15000
	echo $? >"$work/status"
} 2>&1 | while read -r line; do
	echo "# $line"
	case $line in
	*/run.*" bytes") ;;
	*) continue ;;
	esac
	number=${line##*/run.} number=${number%%:*}
	cp "$disk/run.$number" "$out/" && mark "$(echo "$number" | sed 's/^0*//')"
done
[ "$(cat "$work/status")" = 0 ]
result "pmukit record --interval records" $?

recorded=$(ls "$out" | wc -l)
[ "$recorded" -gt $((keep + 1)) ]
result "$recorded recordings were complete, so that some were deleted" $?

ls "$disk" | grep '^run' | sed 's/^/# kept: /'
[ "$(ls "$disk" | grep -c '^run\.')" = "$keep" ]
result "the disk has the $keep newest recordings" $?
umount "$disk"
exit $tap_failed
