#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# enabled.sh N: the N-th CXL memory function (from 0) has an instance that was already enabled when the driver attached. Tests that the
# driver does not use this instance by default. Needs the module's file in PMUKIT_MODULE, and the module loaded without parameters.
. "$(dirname "$0")/hmu.sh"
module=${PMUKIT_MODULE:-}

[ -e "$module" ] || skip_all "no module in PMUKIT_MODULE"

plan 3
! pmu_of_device "$1" >/dev/null && [ "$(dmesg | grep -c 'cxl_hmu.*: left alone: it is enabled')" = 1 ]
result "an instance that was enabled before the driver attached gets no PMU, and the log has one line" $?
rmmod cxl_hmu && insmod "$module" take_enabled=1 && pmu_of_device "$1" >/dev/null
result "with take_enabled=1, an instance that was enabled before the driver attached gets a PMU" $?
rmmod cxl_hmu && insmod "$module" && pmu_of_device "$1" >/dev/null
result "after the module was loaded once with take_enabled=1, the instance also gets a PMU when the module is loaded without the parameter" $?
exit $tap_failed
