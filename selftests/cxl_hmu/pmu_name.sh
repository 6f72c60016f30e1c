#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# pmu_name.sh N: prints the PMU of instance 0 of the N-th CXL memory function. mem0 is the function that was probed first, which
# is not always function 0.
. "$(dirname "$0")/hmu.sh"
pmu_of_device "$1"
