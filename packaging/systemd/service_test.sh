#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# service_test.sh UNIT: checks that the exposure of the service is at most 3.0 of 10, by systemd-analyze security. Exit code 77: this
# system has no systemd-analyze that can check a file; make deb-test checks it on an installed Debian.
set -u
unit=$1
systemd-analyze security --help 2>/dev/null | grep -q -e --offline || { echo 'no systemd-analyze with --offline'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
systemd-analyze security --offline=true --threshold=30 "$unit" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
tail -n 1 "$work/log"
# Checks that the threshold is effective: the same service without confinement must exceed it.
grep -v '^CapabilityBoundingSet=\|^SystemCallFilter=' "$unit" >"$work/${unit##*/}"
! systemd-analyze security --offline=true --threshold=30 "$work/${unit##*/}" >"$work/log" 2>&1 ||
	{ echo 'the threshold does not detect a less confined service:'; tail -n 1 "$work/log"; exit 1; }
