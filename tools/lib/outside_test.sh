#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# outside_test.sh BUILD EXAMPLE MAKE_RECORDING [CXXFLAGS]: installs the build into a staging tree with `make install`, as packagers
# do. Checks that all expected files are installed, that the headers compile without the source tree, and that no installed file
# contains the path of the staging tree. Builds the example with find_package and with pkg-config, and checks the hot pages that it
# prints.
set -eu
build=$1 example=$2 make_recording=$3 flags=${4:-}
top=$(dirname "$0")/../..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
stage=$folder/stage usr=$folder/stage/usr

quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }
fail() { echo "$*"; exit 1; }

quietly env -u MAKEFLAGS -u MAKELEVEL make -C "$top" install BUILT="$build" DESTDIR="$stage" PREFIX=/usr
if grep -q '^install: no manual pages: ' "$folder/log"; then
	! command -v sphinx-build >"$folder/found" || fail 'Sphinx is installed, but no manual page was built'
	[ ! -e "$usr/share/man" ] || fail 'manual pages were installed although the build reported none'
else
	for page in man1/pmukit.1 man1/pmukit-record.1 man3/libpmukit.3; do
		[ -f "$usr/share/man/$page" ] || fail "not installed: $page"
	done
fi

# Checks that all files of the package are installed, and that nothing is installed outside the prefix.
[ "$(ls "$stage")" = usr ] || fail "beside usr: $(ls "$stage")"
library=$(find "$usr" -name 'libpmukit.so.2')
pc=$(find "$usr" -name libpmukit.pc)
for file in bin/pmukit bin/pmukit-encode include/pmukit/perfdata/reader.hpp include/pmukit/pmukit.hpp include/pmukit/cxl_hmu.h \
	share/doc/pmukit/components/lib.rst \
	share/bash-completion/completions/pmukit "${library#"$usr"/}" "${pc#"$usr"/}"; do
	[ -f "$usr/$file" ] || fail "not installed: $file"
done
for name in libpmukit.so libpmukit.a pmukitConfig.cmake pmukitConfigVersion.cmake pmukitTargets.cmake; do
	[ -n "$(find "$usr" -name "$name")" ] || fail "not installed: $name"
done
strays=$(find "$usr" ! -name '*.rst' '(' -name '*_test*' -o -name '*fuzz*' -o -name '*bench*' -o -name '*model*' ')')
[ -z "$strays" ] || fail "installed, but internal: $strays"
! grep -rlIF "$folder" "$usr" >"$folder/log" || fail "knows the staging tree: $(cat "$folder/log")"
"$usr/bin/pmukit" --version | grep -q '^pmukit ' || fail 'the installed pmukit does not start'

# Checks that the headers need only the installed tree: compiles each C header as C, and all C++ headers together. (The library's
# build compiles each C++ header alone.)
for header in "$usr"/include/pmukit/*.h; do
	quietly cc -fsyntax-only -Wall -Wextra -Werror -I "$usr/include" -x c "$header"
done
[ "$(ls "$usr/include")" = pmukit ] || fail "include has more than pmukit/: $(ls "$usr/include")"
! find "$usr/include" -name '*.hpp' -exec grep -l '#include "\(base\|perfdata\|decode\|lib\)/' {} + || fail 'headers that only our tree can include'
! grep -rl 'visibility("hidden")' "$usr/include" >"$folder/log" || fail "an internal header is installed: $(cat "$folder/log")"
(cd "$usr/include" && find . -name '*.hpp' | sed 's|^\./\(.*\)|#include "\1"|') >"$folder/all.cpp"
[ "$(wc -l <"$folder/all.cpp")" -ge 20 ] || fail 'hardly any headers'
quietly "${CXX:-c++}" -std=c++20 -fsyntax-only -I "$usr/include" "$folder/all.cpp"
# layouts_test.sh checks what pmukit.hpp includes.
echo '#include "pmukit/pmukit.hpp"' >"$folder/one.cpp"
"${CXX:-c++}" -std=c++20 -MM -I "$usr/include" "$folder/one.cpp" | tr ' ' '\n' | sed -n "s|^$usr/include/\(.*\.hpp\)\$|#include \"\1\"|p" |
	sort >"$folder/one"
sort "$folder/all.cpp" | comm -23 - "$folder/one" >"$folder/log"
[ ! -s "$folder/log" ] || fail "headers that pmukit.hpp does not include: $(cat "$folder/log")"
quietly cmake -S "$example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$usr" -DCMAKE_CXX_FLAGS="$flags"
quietly cmake --build "$folder/build"
"$make_recording" "$folder/perf.data"
expected='cxl_hmu_mem0.0.0 0x3000 900 accesses
cxl_hmu_mem0.0.0 0x1000 500 accesses
cxl_hmu_mem0.0.0 0x2000 100 accesses
cxl_hmu_mem1.0.0 0x3000 7 accesses
cxl_hmu_mem1.0.0 0x9000 5 accesses'
for program in hot_pages hot_pages_static; do
	found=$("$folder/build/$program" "$folder/perf.data")
	[ "$found" = "$expected" ] || fail "$program said: $found"
done

# pkg-config returns a prefix that is relative to libpmukit.pc. In this test the prefix is in the staging tree; for an installed package it
# is the system's prefix.
said=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs libpmukit)
# shellcheck disable=SC2086
quietly "${CXX:-c++}" -std=c++20 $flags "$example/hot_pages.cpp" -o "$folder/by_pkg_config" $said
found=$(LD_LIBRARY_PATH=$(dirname "$library") "$folder/by_pkg_config" "$folder/perf.data")
[ "$found" = "$expected" ] || fail "by pkg-config: $found"
prefix=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable prefix libpmukit)
[ "$(readlink -f "$prefix")" = "$(readlink -f "$usr")" ] || fail "libpmukit.pc: prefix $prefix"

readelf -d "$library" | grep -q 'SONAME.*libpmukit\.so\.2]' || fail 'wrong soname'
! readelf -d "$library" "$usr/bin/pmukit" | grep -E 'R(UN)?PATH' || fail 'a path of the build in a program'
foreign=$(nm -D --defined-only "$library" | c++filt | grep -v 'pmukit::\|LIBPMUKIT_2' || true)
[ -z "$foreign" ] || fail "foreign symbols exported: $foreign"

# VERSION, the pmukit command, libpmukit.pc, and the headers and library that a program uses must have the same version.
version=$(cat "$top/VERSION")
"$usr/bin/pmukit" --version | grep -qx "pmukit $version" || fail "the command is not $version"
found=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion libpmukit)
[ "$found" = "$version" ] || fail "libpmukit.pc has version $found, not $version"
cat >"$folder/version.cpp" <<-'CPP'
	#include <cstdio>
	#include <pmukit/pmukit.hpp>
	static_assert(PMUKIT_VERSION / 10000 == PMUKIT_VERSION_MAJOR);
	int main()
	{
		std::printf("%s %s %d.%d.%d\n", pmukit::library_version(), pmukit::kHeaderVersion,
			    PMUKIT_VERSION_MAJOR, PMUKIT_VERSION_MINOR, PMUKIT_VERSION_PATCH);
	}
CPP
# shellcheck disable=SC2086
quietly "${CXX:-c++}" -std=c++20 $flags "$folder/version.cpp" -o "$folder/version" $said
found=$(LD_LIBRARY_PATH=$(dirname "$library") "$folder/version")
[ "$found" = "$version $version $version" ] || fail "library, headers and macros are $found, not $version"
