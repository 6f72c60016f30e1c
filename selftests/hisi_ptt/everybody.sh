#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# everybody.sh: makes every kind of packet on both ports that the device serves: CPU accesses, DMA between a function and system memory,
# DMA between two functions, and messages.
set -e
pcie_load --function 01:00.0 --writes 200 --reads 100 --width 4 --fetches 10 --stores 10 --bytes 1000
pcie_load --function 04:00.0 --writes 100 --reads 100 --width 2 --fetches 10 --stores 10 --bytes 700 --messages 3
pcie_load --function 01:00.0 --target 04:00.0 --fetches 10 --stores 10 --bytes 600
pcie_load --function 04:00.0 --target 01:00.0 --fetches 10 --stores 10 --bytes 300
