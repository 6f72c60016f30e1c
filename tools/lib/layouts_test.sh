#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# layouts_test.sh INCLUDE LAYOUTS PAGE: checks that the classes of the installed headers have the memory layout listed in LAYOUTS, so
# that programs compiled with earlier headers of the same soname still work. (symbols_test.sh checks the functions.) UPDATE=1
# rewrites LAYOUTS, for a new soname or for new classes. Also checks that each class hides its members, except structs and the
# classes that section "Memory layout" of PAGE lists. Exit code 77: abidw (package abigail-tools) is missing.
set -eu
include=$1 layouts=$2 page=$3
command -v abidw >/dev/null || { echo 'no abidw: make setup installs it (abigail-tools)'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

printf '#include "lib/pmukit.hpp"\nint pmukit_layouts;\n' >"$work/all.cpp"
# The debug information must include classes with virtual functions, although their vtable is in another object file.
case $("${CXX:-c++}" --version) in *clang*) whole=-fstandalone-debug ;; *) whole=-femit-class-debug-always ;; esac
"${CXX:-c++}" -std=c++20 -g -fno-eliminate-unused-debug-types $whole -fPIC -shared -I "$include" -I "$include/../include/uapi" "$work/all.cpp" -o "$work/all.so"
abidw --load-all-types --no-corpus-path --no-comp-dir-path --no-show-locs "$work/all.so" >"$work/all.xml"
awk -f "$(dirname "$0")/layouts.awk" "$work/all.xml" | sort >"$work/found"
[ "$(grep -c . "$work/found")" -ge 100 ] || { echo "layouts_test: abidw shows hardly any classes"; exit 1; }
# Private members end in "_". The only one of a class that hides its members is state_.
awk '{ for (i = 3; i <= NF; i++) if ($i ~ /_@/ && $i != "state_@0" && $i != "state_@64") { sub(/.*::/, "", $1); print $1; next } }' \
	"$work/found" | sort -u >"$work/visible"
sed -n '/^Memory layout$/,/^Units$/p' "$page" | grep -o '``[A-Za-z]*``' | tr -d '`' | sort -u >"$work/listed"
if comm -23 "$work/visible" "$work/listed" | grep . >"$work/diff"; then
	echo 'these classes have visible members: hide them behind state_, or leave the header out of the installation'
	cat "$work/diff"
	exit 1
fi
if [ -n "${UPDATE:-}" ]; then
	{ grep '^#' "$layouts"; cat "$work/found"; } >"$work/new"
	cp "$work/new" "$layouts"
fi
grep -v '^#' "$layouts" >"$work/kept"
diff "$work/kept" "$work/found" >"$work/diff" && exit 0
echo 'the memory layout of a class changed: raise the soname (SOVERSION), or run with UPDATE=1 if the class is new'
cat "$work/diff"
exit 1
