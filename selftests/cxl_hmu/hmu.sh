# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the scripts here: TAP, and the PMU of a device.
KSFT_SKIP=4
tap_number=0
tap_failed=0

# Where recordings go: what vmrun shares with the guest, or what the user says.
out=${OUT:-/out}
[ -d "$out" ] || out=$(mktemp -d)
# Recorders write here first: what is shared with the host refuses writes straight from perf's ring.
work=$(mktemp -d)

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# No device is no failure on a real machine.
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

# result NAME STATUS: 0 is good
result() {
	tap_number=$((tap_number + 1))
	if [ "$2" = 0 ]; then
		echo "ok $tap_number $1"
	else
		tap_failed=1
		echo "not ok $tap_number $1"
	fi
}

# pmu_of_device N: the PMU of instance 0 of the N-th CXL memory function (from 0), waiting for cxl_pci's
# asynchronous probe; fails when there is no such function or no PMU.
pmu_of_device() {
	pci=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class 2>/dev/null | sort | sed -n "$(($1 + 1))p")
	[ -n "$pci" ] || return 1
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		mem=$(ls "${pci%/class}" | grep -x 'mem[0-9]*' | head -n 1)
		pmu=cxl_hmu_$mem.0.0
		[ -z "$mem" ] || [ ! -e "/sys/bus/event_source/devices/$pmu" ] || { echo "$pmu"; return 0; }
		sleep 1
	done
	return 1
}
