#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_power_cuts.sh PMUKIT POWER_CUT OUT GUEST KEEP SEED COUNT: makes COUNT images of a guest's disk after a power cut, with the
# program POWER_CUT, from OUT/disk.log and OUT/disk.begin. GUEST/power_cut has the recordings that power_cut.sh made, each complete.
# On each image, after the journal was replayed:
# - each of the KEEP newest recordings with a final name is complete, equal to the byte. An older one was deleted, but the power cut came
#   before the file system's journal had that: ext4 with data=writeback may have given its blocks to other files already;
# - their numbers have no gap, and are at least KEEP, or all that were complete;
# - the newest one is at least that of the last mark: `pmukit record` had reported it;
# - at most the two files after that are unfinished, and `pmukit recover` reads each or rejects it with a message.
set -eu
pmukit=$1 power_cut=$2 out=$3 recorded=$4/power_cut keep=$5 seed=$6 count=$7
PATH=$PATH:/usr/sbin:/sbin
image=$out/image files=$out/files
bad=0

fail() {
	echo "NOT OK: seed $seed: $*"
	sed 's/^/  /' "$out/cut"
	ls -l "$files" | sed 's/^/  /'
	bad=1
}
# number FILE: prints the number in the name of a recording
number() { echo "$1" | sed -E 's/.*run\.0*([0-9]+).*/\1/'; }

# Makes the image of one cut and extracts its files.
extract() {
	"$power_cut" "$out/disk.log" "$out/disk.begin" "$seed" "$image" >"$out/cut"
	rm -rf "$files"
	mkdir "$files"
	e2fsck -fp "$image" >"$out/e2fsck" 2>&1 || [ $? = 1 ] || fail "the file system is damaged: $(cat "$out/e2fsck")"
	debugfs -R "rdump / $files" "$image" >"$out/debugfs" 2>&1
}

# Checks files with their final names. Sets the number of the newest one.
check_complete() {
	local file least deleted
	newest='' complete=0
	deleted=$(($(ls "$files" | grep '^run\.[0-9]*$' | wc -l) - keep))
	for file in "$files"/run.??????; do
		[ -e "$file" ] || continue
		[ -z "$newest" ] || [ "$(number "$file")" = $((newest + 1)) ] || fail "$file does not follow $newest"
		newest=$(number "$file")
		complete=$((complete + 1))
		[ $complete -le $deleted ] || cmp -s "$file" "$recorded/${file##*/}" || fail "${file##*/} is not complete"
	done
	newest=${newest:-0} mark=$(sed 's/.*mark=//' "$out/cut")
	[ "$newest" -ge "$mark" ] || fail "recording $mark was reported complete, the newest is $newest"
	least=$((newest < keep ? newest : keep))
	[ $complete -ge $least ] || fail "only $complete complete recordings, not $least"
}

check_unfinished() {
	local file status
	for file in "$files"/run.*.part-*; do
		[ -e "$file" ] || continue
		unfinished=$((unfinished + 1))
		case $(($(number "$file") - newest)) in 1 | 2) ;; *) fail "${file##*/} is unfinished" ;; esac
		status=0
		rm -f "$out/recovered"
		"$pmukit" recover -i "$file" --write "$out/recovered" >"$out/recover" 2>&1 || status=$?
		[ $status -le 1 ] && [ -s "$out/recover" ] || fail "pmukit recover ended with $status: $(cat "$out/recover")"
		[ ! -e "$out/recovered" ] || recovered=$((recovered + 1))
	done
}

for file in "$recorded"/run.*; do
	"$pmukit" recover -i "$file" >"$out/report" 2>&1 || bad=1
	"$pmukit" report -i "$file" >>"$out/report" 2>&1 || grep -q 'no sample was recorded' "$out/report" || bad=1
	[ $bad = 0 ] && grep -q 'nothing is lost' "$out/report" && continue
	echo "NOT OK: $file is not whole"
	cat "$out/report"
	bad=1
done
unfinished=0 recovered=0 lossy=0
: >"$out/marks"
last=$((seed + count))
while [ "$seed" -lt $last ]; do
	extract
	check_complete
	check_unfinished
	echo "$mark" >>"$out/marks"
	grep -q ' lost_blocks=0 ' "$out/cut" || lossy=$((lossy + 1))
	seed=$((seed + 1))
done
rm -rf "$image" "$files"
[ $bad = 0 ] && good=yes || good=no
echo "checker: cuts=$count that_lost_writes=$lossy at_marks=$(sort -u "$out/marks" | wc -l) unfinished=$unfinished" \
	"recovered=$recovered good=$good"
exit $bad
