#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests tools/scripts/setup on fake Debian suites, without a network: with Linux 7.2 in backports, and with only newer kernels there. A
# fake apt provides packages that have only the files that the set-up needs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
export PATH=$folder/bin:$PATH FAKE_SUITES=$folder/packages PMUKIT_MIRROR=file:///nowhere
fail() { echo "setup_test: $*"; tail -n 5 "$folder/said" | sed 's/^/  /'; exit 1; }

# A fake dpkg-query, which reports each host package as installed.
printf '#!/bin/sh\necho "ii "\n' >"$folder/bin/dpkg-query"
printf '#!/bin/sh\ncat "$FAKE_SUITES"\n' >"$folder/bin/apt-cache"
cat >"$folder/bin/apt-get" <<'APT'
#!/bin/bash
# apt-get -c CONF update | install [--print-uris | --download-only] NAME... | download [--print-uris] NAME...
set -euo pipefail
conf='' verb='' only_print='' names=()
while [ $# -gt 0 ]; do
	case $1 in
	-c) conf=$2; shift ;;
	--print-uris) only_print=yes ;;
	-*) ;;
	update | install | download) verb=$1 ;;
	*) names+=("${1%%:*}") ;;
	esac
	shift
done
[ "$verb" != install ] || cd "$(dirname "$conf")/cache/archives"
for name in "${names[@]}"; do
	case $name in
	linux-libc-dev-*) ;;
	linux-*[0-9]*) grep -qxF "$name" "$FAKE_SUITES" || { echo "E: Unable to locate package $name" >&2; exit 100; } ;;
	esac
	[ -z "$only_print" ] || continue
	! grep -qxF "$name" "$FAKE_SUITES.gone" || exit 100
	tree=$(mktemp -d)
	mkdir "$tree/DEBIAN" "$tree/usr"
	printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: none <none@example.org>\nDescription: fake\n' "$name" >"$tree/DEBIAN/control"
	file() { mkdir -p "$tree/$(dirname "$1")" && : >"$tree/$1"; }
	case $name in
	linux-image-*) file "boot/vmlinuz-${name#linux-image-}" && file "usr/lib/modules/${name#linux-image-}/modules.dep" ;;
	linux-binary-*) file "usr/lib/modules/${name#linux-binary-}/vmlinuz" ;;
	linux-modules-*) file "usr/lib/modules/${name#linux-modules-}/modules.dep" ;;
	linux-headers-*) file "usr/src/$name/Makefile" ;;
	linux-source-*)
		for path in tools/testing/selftests/kselftest.h tools/testing/selftests/lib.mk tools/testing/selftests/kselftest/runner.sh \
			scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch tools/docs/kernel-doc tools/lib/python/kdoc.py \
			drivers/hwtracing/ptt/hisi_ptt.c drivers/hwtracing/ptt/hisi_ptt.h; do
			file "$name/$path"
		done
		mkdir -p "$tree/usr/src"
		tar -C "$tree" -cJf "$tree/usr/src/$name.tar.xz" "$name"
		rm -r "${tree:?}/$name"
		;;
	ndctl) file usr/bin/cxl ;;
	intel-cmt-cat) file usr/sbin/pqos ;;
	python3-sphinx) file usr/share/ca-certificates/mozilla/one.crt ;;
	esac
	dpkg-deb --root-owner-group -Znone -b "$tree" "${name}_1_all.deb" >/dev/null
	rm -r "$tree"
done
APT
chmod +x "$folder"/bin/*

# suites BACKPORTS-VERSION...: writes the package names of all suites
suites() {
	local arch kernel
	for arch in amd64 arm64; do
		printf '%s\n' "linux-headers-6.1.0-50-$arch" linux-headers-6.1.0-50-common "linux-image-6.1.0-50-$arch" linux-kbuild-6.1
		for kernel in 6.12.117+deb13 $(printf '%s+deb13 ' "$@"); do
			printf "%s-$kernel-$arch\n" linux-headers linux-image linux-binary linux-modules linux-base
			printf '%s\n' "linux-headers-$kernel-common" "linux-kbuild-$kernel" "linux-source-$(echo "$kernel" | cut -d. -f1,2)"
		done
	done | sort -u >"$FAKE_SUITES"
	: >"$FAKE_SUITES.gone"
}
# set_up CACHE [PART...]: runs the set-up; fails the test unless the set-up succeeds
set_up() {
	local cache=$1
	shift
	PMUKIT_CACHE=$folder/$cache tools/scripts/setup "$@" >"$folder/said" 2>&1 || fail "setup $* failed with $?"
}
# has CACHE K KERNEL: fails the test unless the headers and guest stored as K are those of KERNEL, and a kernel source is stored as K
has() {
	grep -qx "$2 linux-headers-$3-amd64 gcc-14" "$folder/$1/roots/build/kernels" || fail "headers of $2: $(grep "^$2 " "$folder/$1/roots/build/kernels")"
	grep -qx "KVER=$3-amd64" "$folder/$1/guests/$2/guest.env" || fail "guest $2: $(cat "$folder/$1/guests/$2/guest.env")"
	[ -e "$folder/$1/sources/$2/drivers/hwtracing/ptt/hisi_ptt.c" ] || fail "no source of $2"
}

suites 7.2.9 7.2.12 7.3.4
set_up today
has today 7.2 7.2.12+deb13
has today 6.12 6.12.117+deb13
! grep -q 'which was not tested' "$folder/said" || fail 'a warning though 7.2 is there'

suites 7.3.4 7.4.2
set_up later
has later 7.2 7.4.2+deb13
has later 6.12 6.12.117+deb13
[ -e "$folder/later/sources/7.2/tools/testing/selftests/kselftest.h" ] || fail 'no kselftest harness of the newer source'
grep -q 'no Linux 7\.2 in the suites any more; taking linux-headers-7\.4\.2+deb13-amd64' "$folder/said" || fail 'no warning that 7.2 is gone'

set_up later
! grep -q fetch "$folder/said" || fail 'a second set-up fetches again'

# First only the parts that the demo needs, then the rest.
set_up parts host
[ ! -d "$folder/parts/roots" ] || fail 'setup host fetches trees'
set_up parts guest 6.12
grep -qx 'KVER=6.12.117+deb13-amd64' "$folder/parts/guests/6.12/guest.env" || fail 'setup guest 6.12: no guest 6.12'
[ -e "$folder/parts/sources/7.2/tools/testing/selftests/kselftest.h" ] || fail 'setup guest 6.12: no kselftest harness'
[ ! -d "$folder/parts/guests/7.2" ] || fail 'setup guest 6.12 fetches guest 7.2'
set_up parts
has parts 7.2 7.4.2+deb13
has parts 6.12 6.12.117+deb13

# First only what the demo needs, then all, then the demo again.
set_up demo demo-host
set_up demo demo 6.12
[ "$(cut -d' ' -f1 "$folder/demo/roots/build/kernels")" = 6.12 ] || fail "kernels of the demo: $(cat "$folder/demo/roots/build/kernels")"
grep -qx 'KVER=6.12.117+deb13-amd64' "$folder/demo/guests/6.12/guest.env" || fail 'setup demo 6.12: no guest 6.12'
[ ! -d "$folder/demo/sources" ] && [ ! -e "$folder/demo/guests/6.12/usr/bin/cxl" ] || fail 'setup demo 6.12 fetches what only tests need'
set_up demo demo 6.12
! grep -q fetch "$folder/said" || fail 'a second demo fetches again'
set_up demo
has demo 6.12 6.12.117+deb13
has demo 7.2 7.4.2+deb13
[ -e "$folder/demo/guests/6.12/usr/bin/cxl" ] || fail 'a set-up after a demo adds no commands to its guest'
set_up demo demo 7.2
! grep -q fetch "$folder/said" || fail 'a demo after a set-up fetches again'

# The mirror lists two kernels of ppc64el, and has only the older one.
for kernel in 6.12.107+deb13 6.12.117+deb13; do
	printf "%s-$kernel-powerpc64le\n" linux-headers linux-image
	printf '%s\n' "linux-headers-$kernel-common" "linux-kbuild-$kernel"
done | sort -u >>"$FAKE_SUITES"
printf '%s\n' linux-{headers,image}-6.12.117+deb13-powerpc64le >"$FAKE_SUITES.gone"
set_up demo guest 6.12-ppc64el
grep -qx '6.12-ppc64el linux-headers-6.12.107+deb13-powerpc64le powerpc64le-linux-gnu-gcc-14' "$folder/demo/roots/build/kernels" ||
	fail "kernels with ppc64el: $(cat "$folder/demo/roots/build/kernels")"
grep -qx 'KVER=6.12.107+deb13-powerpc64le' "$folder/demo/guests/6.12-ppc64el/guest.env" || fail 'the guest of ppc64el has another kernel'

: >"$FAKE_SUITES"
! PMUKIT_CACHE=$folder/none tools/scripts/setup >"$folder/said" 2>&1 || fail 'suites without a kernel are enough'
grep -q 'no package matches' "$folder/said" || fail 'no reason is given where suites have no kernel'
