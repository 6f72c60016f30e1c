#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# slow_reader.sh: pmukit record is stopped while its AUX area fills. No entry may get lost as long as the device's buffers hold the rest.
. "$(dirname "$0")/tap.sh"

command -v pmukit >/dev/null || skip_all "no pmukit"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || skip_all "no hisi_ptt PMU"

# The recorded program stops its recorder during the first stores; 131072 stores fill one buffer of the device. The stores after that
# have another width.
cat >"$work/load" <<'LOAD'
#!/bin/sh
kill -STOP "$PPID"
pcie_load --function 01:00.0 --writes "$1" --width 4
kill -CONT "$PPID"
sleep 1
pcie_load --function 01:00.0 --writes 100 --width 8
LOAD
chmod +x "$work/load"

plan 1
writes=140000
lost() { cat "/sys/kernel/debug/pmukit/$pmu/lost"; }
lost_before=$(lost)
pmukit record -e "$pmu/filter=0x80001,type=1,direction=1,format=1/" -m 64,128 -o "$work/data" -- "$work/load" $writes >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
pmukit dump --tlp -i "$work/data" >"$work/dump"
before=$(grep -c ' MWr .* length 1 ' "$work/dump")
behind=$(grep -c ' MWr .* length 2 ' "$work/dump")
echo "# $before of $writes entries came of the time before, $behind of 100 of the time behind"
lost=$(($(lost) - lost_before))
[ $status = 0 ] && [ $((before + behind + lost)) = $((writes + 100)) ]
result "if pmukit record is stopped until its AUX area is full, each trace entry is recorded or counted as lost" $?
exit $tap_failed
