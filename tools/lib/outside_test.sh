#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# outside_test.sh BUILD EXAMPLE MAKE_RECORDING [CXXFLAGS]: installs the build into a folder of its own,
# builds the example there by find_package and by pkg-config, and expects the hot pages of a recording.
set -eu
build=$1 example=$2 make_recording=$3 flags=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/usr" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
cmake -S "$example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/usr" -DCMAKE_CXX_FLAGS="$flags" >"$folder/log" 2>&1 &&
	cmake --build "$folder/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }

"$make_recording" "$folder/perf.data"
expected='0x3000 900 accesses
0x1000 500 accesses
0x2000 100 accesses'
for program in hot_pages hot_pages_static; do
	found=$("$folder/build/$program" "$folder/perf.data")
	[ "$found" = "$expected" ] || { echo "$program said: $found"; exit 1; }
done

# pkg-config finds the same from a tree that is no system's.
pc=$(dirname "$(find "$folder/usr" -name libpmukit.pc)")
said=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs libpmukit)
# shellcheck disable=SC2086
c++ -std=c++20 $flags "$example/hot_pages.cpp" -o "$folder/by_pkg_config" $said
found=$(LD_LIBRARY_PATH=$(PKG_CONFIG_PATH=$pc pkg-config --variable libdir libpmukit) "$folder/by_pkg_config" "$folder/perf.data")
[ "$found" = "$expected" ] || { echo "by pkg-config: $found"; exit 1; }

library=$(find "$folder/usr" -name 'libpmukit.so.1')
readelf -d "$library" | grep -q 'SONAME.*libpmukit\.so\.1]' || { echo 'wrong soname'; exit 1; }
foreign=$(nm -D --defined-only "$library" | c++filt | grep -v 'pmukit::\|LIBPMUKIT_1' || true)
[ -z "$foreign" ] || { echo "symbols that are not ours: $foreign"; exit 1; }
