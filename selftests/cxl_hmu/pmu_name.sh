#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# pmu_name.sh N: prints the PMU of instance 0 of the N-th CXL memory function. The function that was probed first is mem0, and that is
# not always function 0.
. "$(dirname "$0")/hmu.sh"
pmu_of_device "$1"
