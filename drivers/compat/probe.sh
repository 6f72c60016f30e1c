#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Detect the features of a kernel: compile each probe with the flags of a module build.
#
#   probe.sh OUT-FOLDER PROBE-FOLDER COMPILER FLAG...
#
# For each probe that compiles, OUT-FOLDER/pmukit_compat_config.h has a "#define HAVE_<NAME>". Results are reused until the
# compiler, the flags, the kernel release, a probe or this script changes. If sanity.c does not compile, or insanity.c does,
# the results are meaningless, and the script fails.
set -u

out=$1
probes=$2
shift 2

header=$out/pmukit_compat_config.h
work=$out/work
mkdir -p "$work" || exit 1

key=$({ echo "${KERNELRELEASE:-}" "$@"; "$1" --version; cat "$probes"/*.c "$0"; } | cksum)
if [ -f "$header" ] && [ "$(cat "$out/key" 2>/dev/null)" = "$key" ]; then
	exit 0
fi

rm -f "$work"/*.o
for probe in "$probes"/*.c; do
	name=$(basename "$probe" .c)
	"$@" -Werror -DMODULE -DKBUILD_MODNAME='"probe"' -DKBUILD_BASENAME='"probe"' \
		-c "$probe" -o "$work/$name.o" >"$work/$name.log" 2>&1 &
done
wait

compiles() {
	[ -e "$work/$1.o" ]
}

if ! compiles sanity; then
	echo "drivers/compat: no probe compiles with this kernel's headers:" >&2
	head -n 20 "$work/sanity.log" >&2
	exit 1
fi
if compiles insanity; then
	echo "drivers/compat: a probe that must fail compiles; the flags hide errors" >&2
	exit 1
fi

{
	echo "/* Made by drivers/compat/probe.sh. */"
	for probe in "$probes"/*.c; do
		name=$(basename "$probe" .c)
		case $name in
		sanity | insanity) continue ;;
		esac
		if compiles "$name"; then
			echo "#define HAVE_$(echo "$name" | tr a-z A-Z) 1"
		fi
	done
} >"$header.new" || exit 1

# Keep the modification time of an unchanged header, so that nothing is compiled again.
if cmp -s "$header.new" "$header" 2>/dev/null; then
	rm "$header.new"
else
	mv "$header.new" "$header" || exit 1
fi
echo "$key" >"$out/key"
