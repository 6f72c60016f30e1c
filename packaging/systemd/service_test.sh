#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# service_test.sh UNIT: what a program in the service could do to the system, as systemd-analyze counts it: 3.0 of 10 at most. 77: this
# system has no systemd-analyze that looks at a file; make deb-test asks that of an installed Debian.
set -u
unit=$1
systemd-analyze security --help 2>/dev/null | grep -q -e --offline || { echo 'no systemd-analyze with --offline'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
systemd-analyze security --offline=true --threshold=30 "$unit" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
tail -n 1 "$work/log"
# The threshold is looked at: without what confines it the same service fails.
grep -v '^CapabilityBoundingSet=\|^SystemCallFilter=' "$unit" >"$work/${unit##*/}"
! systemd-analyze security --offline=true --threshold=30 "$work/${unit##*/}" >"$work/log" 2>&1 ||
	{ echo 'a service that may do more is as good:'; tail -n 1 "$work/log"; exit 1; }
