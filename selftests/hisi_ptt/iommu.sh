#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# iommu.sh [FUNCTION]: the device is behind a translating IOMMU. The driver must not bind the device, and the log must give the reason.
# With an identity domain the driver must bind the device.
function=/sys/bus/pci/devices/${1:-0000:00:18.0}
KSFT_SKIP=4
tap_number=0
tap_failed=0

# result NAME STATUS: the test passes if STATUS is 0
result() {
	tap_number=$((tap_number + 1))
	if [ "$2" = 0 ]; then echo "ok $tap_number $1"; else echo "not ok $tap_number $1"; tap_failed=1; fi
}

pmus() { ls /sys/bus/event_source/devices | grep -c '^hisi_ptt[0-9]'; }

echo "TAP version 13"
group=$function/iommu_group
[ -e "$group/type" ] || { echo "1..0 # SKIP no IOMMU before ${function##*/}"; exit $KSFT_SKIP; }
case $(cat "$group/type") in
DMA*) ;;
*) echo "1..0 # SKIP the IOMMU does not translate for ${function##*/}"; exit $KSFT_SKIP ;;
esac

echo "1..5"
[ ! -e "$function/driver" ]
result "the driver does not bind a device whose DMA is translated" $?
[ "$(pmus)" = 0 ]
result "a device whose DMA is translated has no PMU" $?
dmesg | grep -q "hisi_ptt ${function##*/}: .*needs direct DMA mappings"
result "the log says that the device needs direct DMA mappings" $?
echo identity >"$group/type"
result "the IOMMU group can get an identity domain" $?
echo "${function##*/}" >/sys/bus/pci/drivers/hisi_ptt/bind && [ "$(pmus)" = 1 ]
result "with an identity domain, the driver binds the device, and there is a PMU" $?
exit $tap_failed
