#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# traffic.sh: tests that the devices are at the addresses given to the model, and that every kind of
# endpoint traffic works. count_tlps.sh checks on the host that the model received all packets.
tap_number=0
tap_failed=0

# result NAME STATUS: the test passes if STATUS is 0
result() {
	tap_number=$((tap_number + 1))
	[ "$2" = 0 ] || tap_failed=1
	if [ "$2" = 0 ]; then echo "ok $tap_number $1"; else echo "not ok $tap_number $1"; fi
}

# at BDF IDS: prints the result of a test that the function BDF exists and has these IDs
at() {
	device=/sys/bus/pci/devices/0000:$1
	[ "$(cat "$device/vendor" "$device/device" 2>/dev/null | tr '\n' ' ')" = "$2 " ]
	result "$1 has the vendor and device IDs $2" $?
}

echo "TAP version 13"
[ "$(cat /sys/bus/pci/devices/0000:01:00.0/device 2>/dev/null)" = 0x4550 ] ||
	{ echo "1..0 # SKIP no endpoint 1234:4550 at 01:00.0"; exit 4; }
echo "1..9"
at 00:18.0 "0x19e5 0xa12e"
at 01:00.0 "0x1234 0x4550"
at 04:00.0 "0x1234 0x4550"
at 06:00.0 "0x1234 0x4550"

pcie_load --function 01:00.0 --writes 300 --reads 200 --width 8
result "pcie_load loads from and stores to 01:00.0" $?
pcie_load --function 01:00.0 --fetches 10 --stores 20 --bytes 1000
result "01:00.0 reads and writes system memory by DMA" $?
pcie_load --function 01:00.0 --target 04:00.0 --fetches 4 --stores 3 --bytes 600
result "01:00.0 reads and writes memory of 04:00.0 by DMA" $?
pcie_load --function 04:00.0 --messages 5
result "04:00.0, below a switch, sends messages" $?
pcie_load --function 06:00.0 --writes 50 --width 8
result "pcie_load stores to 06:00.0, below a root port without a trace device" $?
exit $tap_failed
