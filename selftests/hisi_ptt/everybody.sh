#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# everybody.sh: a load with every kind of packet on both served ports: CPU accesses, DMA of a function with system memory and
# with another function, messages.
set -e
pcie_load --function 01:00.0 --writes 200 --reads 100 --width 4 --fetches 10 --stores 10 --bytes 1000
pcie_load --function 04:00.0 --writes 100 --reads 100 --width 2 --fetches 10 --stores 10 --bytes 700 --messages 3
pcie_load --function 01:00.0 --target 04:00.0 --fetches 10 --stores 10 --bytes 600
pcie_load --function 04:00.0 --target 01:00.0 --fetches 10 --stores 10 --bytes 300
