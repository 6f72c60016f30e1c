#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests packaging/arch/PKGBUILD as makepkg reads it, with a fake cmake, which compiles nothing. Each package function must install the
# expected files in its folder, only below usr; the DKMS packages must have the drivers that tools/scripts/dkms-source lists.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
top=$(pwd) version=$(cat VERSION)
fail() { echo "pkgbuild_test: $*"; exit 1; }
srcdir=$folder/src
mkdir -p "$srcdir/docs/man" "$srcdir/firmware" "$folder/bin"
ln -s "$top" "$srcdir/pmukit-$version"
touch "$srcdir/docs/man/pmukit.1" "$srcdir/docs/man/libpmukit.3" "$srcdir/firmware/imc.dtb"
printf '#!/bin/sh\n[ "$1" = --install ] && install -D -m 755 /dev/null "$DESTDIR/usr/bin/pmukit"\n' >"$folder/bin/cmake"
chmod +x "$folder/bin/cmake"
export PATH=$folder/bin:$PATH

. packaging/arch/PKGBUILD
[ "$pkgver" = "$version" ] || fail "pkgver is $pkgver"
for package in "${pkgname[@]}"; do
	pkgdir=$folder/pkg/$package
	mkdir -p "$pkgdir"
	(cd "$srcdir" && set -e && "package_$package" && [ -n "$pkgdesc" ] && [ ${#license[@]} -gt 0 ]) || fail "package_$package failed"
	[ "$(ls "$pkgdir")" = usr ] || fail "$package has: $(ls "$pkgdir")"
done
for file in pmukit/usr/bin/pmukit pmukit/usr/share/man/man1/pmukit.1 pmukit/usr/share/man/man3/libpmukit.3 \
	pmukit/usr/share/licenses/pmukit/GPL-2.0-only.txt pmukit-lab-dkms/usr/lib/firmware/pmukit/imc.dtb; do
	[ -f "$folder/pkg/$file" ] || fail "no $file"
done
for package in pmukit pmukit-hisi-ptt pmukit-lab; do
	source=$folder/pkg/$package-dkms/usr/src/$package-$version
	grep -q "^PACKAGE_VERSION=\"$version\"$" "$source/dkms.conf" || fail "$package-dkms: no dkms.conf of $version"
	for driver in $(tools/scripts/dkms-source $package); do
		[ -d "$source/drivers/$driver" ] || fail "$package-dkms: no $driver"
	done
done
