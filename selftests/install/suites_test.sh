#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests, with a fake apt-cache, which kernel packages the set-up selects for K=7.2, also if the Debian suites have only newer kernels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/apt-cache" <<-'APT'
	#!/bin/sh
	cat "$SUITES_PACKAGES"
APT
chmod +x "$folder/apt-cache"
export PATH=$folder:$PATH SUITES_PACKAGES=$folder/packages PMUKIT_CACHE=$folder
. tools/scripts/private-apt.sh

regex='linux-headers-7\.2\.[0-9]+\+deb13-amd64'
failed=0
# takes WHAT REGEX EXPECTED WARNINGS: selects a package from those on standard input, and compares its name and the number of warnings with
# the expected ones.
takes() {
	cat >"$SUITES_PACKAGES"
	local name
	name=$(newest tree "$2" 2>"$folder/said") || name="exit $?"
	if [ "$name" != "$3" ] || [ "$(wc -l <"$folder/said")" != "$4" ]; then
		echo "suites_test: $1: took '$name', expected '$3' and $4 lines:"
		cat "$folder/said"
		failed=1
	fi
}

takes 'the kernel by its name' "$regex" linux-headers-7.2.12+deb13-amd64 0 <<-P
	linux-headers-6.12.117+deb13-amd64
	linux-headers-7.2.9+deb13-amd64
	linux-headers-7.2.12+deb13-amd64
	linux-headers-7.3.1+deb13-amd64
P
takes 'the newest kernel where 7.2 is gone' "$regex" linux-headers-7.4.2+deb13-amd64 1 <<-P
	linux-headers-6.12.117+deb13-amd64
	linux-headers-7.3.1+deb13-amd64
	linux-headers-7.4.2+deb13-amd64
	linux-headers-7.4.3+deb13-rt-amd64
P
takes 'the source where 7.2 is gone' 'linux-source-7\.2' linux-source-7.3 1 <<-P
	linux-source-6.12
	linux-source-7.3
P
takes 'no kernel at all' "$regex" 'exit 69' 1 <<-P
	linux-base
P
takes 'another kernel is never replaced' 'linux-headers-6\.1\.[0-9]+-[0-9]+-amd64' 'exit 69' 1 <<-P
	linux-headers-6.12.117+deb13-amd64
P
exit $failed
