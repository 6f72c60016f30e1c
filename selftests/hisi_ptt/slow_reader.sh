#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# slow_reader.sh: pmukit record, stopped until its AUX area is full, goes on recording when it runs again.
. "$(dirname "$0")/tap.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || skip_all "no hisi_ptt PMU"

# The recorded program, which stops its recorder meanwhile. What comes behind that is of another width.
cat >"$work/load" <<'LOAD'
#!/bin/sh
runs() { cat "/sys/bus/event_source/devices/$PMU/runs/copy" "/sys/bus/event_source/devices/$PMU/runs/zero_copy" | awk '{ n += $1 } END { print n }'; }
kill -STOP "$PPID"
pcie_load --function 01:00.0 --writes "$1" --width 4
before=$(runs)
kill -CONT "$PPID"
# Until the trace has been begun anew, by whoever does, and then not again for a second.
last=$before
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	sleep 1
	now=$(runs)
	[ "$now" = "$before" ] || [ "$now" != "$last" ] || break
	last=$now
done
pcie_load --function 01:00.0 --writes 100 --width 8
LOAD
chmod +x "$work/load"

# stopped PAGES WRITES: 128 entries a page. Where the device was faster than all of the area, nothing of it can be kept.
stopped() {
	PMU=$pmu pmukit record -e "$pmu/filter=0x80001,type=1,direction=1,format=1/" -m "64,$1" -o "$work/data" -- "$work/load" "$2" >"$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	pmukit dump --tlp -i "$work/data" >"$work/dump"
	before=$(grep -c ' MWr .* length 1 ' "$work/dump")
	behind=$(grep -c ' MWr .* length 2 ' "$work/dump")
	echo "# $1 pages: $before of $2 entries came of the time before, $behind of 100 of the time behind"
	[ $status = 0 ] && [ "$before" -lt "$2" ] && [ "$behind" = 100 ] && grep -q 'AUX data was cut\|lost' "$work/said"
}

plan 2
stopped 32 8000
result "record: goes on when it has read a full area" $?
stopped 128 24000
result "record: goes on when it has read a full area that the device writes into" $?
exit $tap_failed
