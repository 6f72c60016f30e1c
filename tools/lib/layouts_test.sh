#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# layouts_test.sh INCLUDE LAYOUTS: checks that the classes of the installed headers have the memory layout listed in LAYOUTS, so
# that programs compiled with earlier headers of the same soname still work. (symbols_test.sh checks the functions.) UPDATE=1
# rewrites LAYOUTS, for a new soname or for new classes. Exit code 77: abidw (package abigail-tools) is missing.
set -eu
include=$1 layouts=$2
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
if [ -n "${UPDATE:-}" ]; then
	{ grep '^#' "$layouts"; cat "$work/found"; } >"$work/new"
	cp "$work/new" "$layouts"
fi
grep -v '^#' "$layouts" >"$work/kept"
diff "$work/kept" "$work/found" >"$work/diff" && exit 0
echo 'the memory layout of a class changed: raise the soname (SOVERSION), or run with UPDATE=1 if the class is new'
cat "$work/diff"
exit 1
