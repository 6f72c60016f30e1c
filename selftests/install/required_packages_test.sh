#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests that each list of build dependencies has the packages that tools/parts.cmake requires on its distribution.
set -euo pipefail
rows=$(sed -n '/^set(pmukit_required/,/)$/p' tools/parts.cmake | grep -c '|')
fail() { echo "required_packages_test: $*"; exit 1; }

# lists DISTRIBUTION FILE: fails the test unless each required package is a word of FILE
lists() {
	local package packages
	packages=$(tools/scripts/required-packages "$1")
	[ "$(echo "$packages" | wc -l)" = "$rows" ] || fail "$1: $rows rows, but required-packages prints: $packages"
	for package in $packages; do
		grep -qE "(^|[ (])$package([ ,)]|\$)" "$2" || fail "$2 has no $package"
	done
}
lists debian debian/control
lists fedora packaging/fedora/pmukit.spec
lists arch packaging/arch/PKGBUILD
for manager in debian suse fedora arch; do
	grep -q "required-packages $manager" packaging/ci/try-kernels || fail "try-kernels does not install what $manager requires"
done
! tools/scripts/required-packages slackware 2>/dev/null || fail 'an unknown distribution was accepted'
