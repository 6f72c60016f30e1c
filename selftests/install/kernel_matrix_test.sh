#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests tools/scripts/kernel-matrix with a fake apt and fake Debian suites: the list of kernels, the stored result of a test run, the page.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
export PATH=$folder/bin:$PATH PMUKIT_CACHE=$folder/cache PMUKIT_MIRROR=file:///nowhere PMUKIT_MATRIX=$folder/table SUITES=$folder/suites
export PMUKIT_SUITES='old new gone'
fail() { echo "kernel_matrix_test: $*"; exit 1; }
# Fakes: apt-get update, which fails for the suite "gone", and apt-cache -c CONF pkgnames.
printf '#!/bin/sh\ncase "$*" in *matrix-gone*) echo "E: no Release file" >&2; exit 100 ;; esac\n' >"$folder/bin/apt-get"
printf '#!/bin/sh\ncat "$SUITES/$(basename "$(dirname "$2")")"\n' >"$folder/bin/apt-cache"
chmod +x "$folder"/bin/*
mkdir "$SUITES"
cat >"$SUITES/matrix-old" <<-P
	linux-headers-5.10.0-9-amd64
	linux-headers-5.10.0-32-amd64
	linux-headers-5.10.0-32-common
	linux-headers-5.10.0-32-rt-arm64
	linux-headers-amd64
	linux-image-5.10.0-32-amd64
P
cat >"$SUITES/matrix-new" <<-P
	linux-headers-7.3.4+deb13-amd64
	linux-headers-7.2.12+deb13-amd64
	linux-headers-7.3.4+deb13-arm64-16k
	linux-headers-7.3.4+deb13-powerpc64le
	linux-headers-7.3.4+deb13-common-rt
P
# same WHAT EXPECTED: fails the test unless standard input equals EXPECTED
same() { diff -u <(printf '%s\n' "$2") - || fail "$1"; }

tools/scripts/kernel-matrix list 2>"$folder/said" | same 'all kernels' '5.10.0-9-amd64 old amd64
5.10.0-32-amd64 old amd64
5.10.0-32-rt-arm64 old arm64
7.2.12+deb13-amd64 new amd64
7.3.4+deb13-amd64 new amd64
7.3.4+deb13-arm64-16k new arm64
7.3.4+deb13-powerpc64le new ppc64el'
grep -q 'gone: no lists from this mirror' "$folder/said" || fail "nothing was said of the suite that is gone: $(cat "$folder/said")"
ONLY_NEWEST=1 tools/scripts/kernel-matrix list 2>"$folder/said" | same 'the newest of each flavor' '5.10.0-32-amd64 old amd64
5.10.0-32-rt-arm64 old arm64
7.3.4+deb13-amd64 new amd64
7.3.4+deb13-arm64-16k new arm64
7.3.4+deb13-powerpc64le new ppc64el'

mkdir -p "$PMUKIT_CACHE/guests/7.2"
printf 'KVER=7.3.4+deb13-amd64\nARCH=amd64\n' >"$PMUKIT_CACHE/guests/7.2/guest.env"
booted() { tools/scripts/kernel-matrix booted 7.2 sh -c "echo 'vmtest: $1 passed, $2 failed'" >"$folder/said" 2>&1; }
booted 6 1 || fail "$(cat "$folder/said")"
booted 7 0 || fail "$(cat "$folder/said")"
grep -v '^#' "$PMUKIT_MATRIX" | cut -f 1-4,6-7 | same 'the last run of a guest' "$(printf 'boot\t7.3.4+deb13-amd64\t7.2\tamd64\tpassed\t7 of 7')"
! tools/scripts/kernel-matrix booted 7.2 true >"$folder/said" 2>&1 || fail 'a command that says no figures was taken for a run'

printf 'build\t7.3.4+deb13-amd64\tnew\tamd64\t2026-11-30\tnewer\t8\t\n' >>"$PMUKIT_MATRIX"
tools/scripts/kernel-matrix page >"$folder/page"
grep -q '^   \* - 7\.3\.4+deb13-amd64$' "$folder/page" || fail 'the page has no row of the build'
grep -q '^     - builds, newer than the newest tested$' "$folder/page" || fail 'the page does not say what the result means'
! grep '@' "$folder/page" || fail 'a table is missing on the page'
