#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# symbols_test.sh LIBRARY ABI HEADER...: checks that the shared library exports exactly the functions that its installed headers
# declare, and that it has every public function listed in ABI, so that programs built with an earlier version of the same soname
# still work. UPDATE=1 rewrites ABI, after a function is added or for a new soname.
set -eu
library=$1 abi=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

awk -f "$(dirname "$0")/declared.awk" "$@" | sort -u >"$work/declared"
cut -d' ' -f2 "$work/declared" | sort -u >"$work/names"
sed -n 's/^public //p' "$work/declared" | sort -u >"$work/public"
# "T" selects functions defined in the library's own sources: functions defined in a header are weak symbols ("W").
nm -DC --defined-only "$library" | sed -n 's/^[0-9a-f]* T \(.*\)@@LIBPMUKIT_2$/\1/p' | sed 's/\[abi:cxx11\]//g' | sort -u >"$work/shown"
awk '{ name = $0; while (gsub(/<[^<>]*>/, "", name)) continue; sub(/\(.*/, "", name); print name "\t" $0 }' "$work/shown" |
	sort -u >"$work/named"
cut -f1 "$work/named" | sort -u >"$work/shown_names"
[ -s "$work/names" ] && [ -s "$work/shown_names" ] || { echo "symbols_test: found nothing to compare"; exit 1; }

# Lists the public functions with their arguments.
awk -F'\t' 'NR == FNR { public[$1]; next } $1 in public { print $2 }' "$work/public" "$work/named" | sort -u >"$work/abi"
if [ -n "${UPDATE:-}" ]; then
	{ grep '^#' "$abi"; cat "$work/abi"; } >"$work/new"
	cp "$work/new" "$abi"
fi

status=0
expect_none() {
	[ -s "$work/found" ] || return 0
	echo "$1:"
	sed 's/^/  /' "$work/found"
	status=1
}
comm -23 "$work/names" "$work/shown_names" >"$work/found"
expect_none "declared in an installed header, but not in the library"
comm -13 "$work/names" "$work/shown_names" >"$work/found"
expect_none "in the library, but declared in no installed header"
grep -v '^#' "$abi" | sort -u | comm -23 - "$work/abi" >"$work/found"
expect_none "gone, and programs may use it: bring it back, or raise the soname (SOVERSION) and run with UPDATE=1"
exit $status
