#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests tools/scripts/metadata on a copy of the files that the script writes: the script must report files with an old maintainer or
# version, and must update them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git ls-files VERSION MAINTAINERS SECURITY.md debian packaging tools/lib tools/scripts/metadata | tar -c -T - | tar -x -C "$folder"
cd "$folder"
fail() { echo "metadata_test: $*"; exit 1; }

tools/scripts/metadata || fail 'the files of this tree differ already'
sed -i 's/^maintainer=.*/maintainer=A. N. Adopter/; s/example\.org/adopter.example/' packaging/metadata
! tools/scripts/metadata 2>said || fail 'another maintainer was not noticed'
for file in debian/control debian/copyright debian/watch MAINTAINERS SECURITY.md packaging/fedora/pmukit.spec packaging/arch/PKGBUILD tools/lib/libpmukit.pc.in; do
	grep -q "metadata: $file:" said || fail "nothing was reported for $file"
done
tools/scripts/metadata --update
tools/scripts/metadata || fail 'what was updated differs'
left=$(grep -rl 'example\.org' . | grep -vE '^\./(said|debian/changelog|packaging/fedora/pmukit\.spec)$' || true)
[ -z "$left" ] || fail "the address of before is left in: $left"
grep -q '^Maintainer: A\. N\. Adopter <pmukit@adopter\.example>$' debian/control || fail "debian/control: $(grep Maintainer debian/control)"
! grep '^M:' MAINTAINERS | grep -v 'A\. N\. Adopter <pmukit@adopter\.example>' || fail 'MAINTAINERS has another maintainer'

echo 9.8.7 >VERSION
! tools/scripts/metadata --update 2>said || fail 'a version without an entry in a changelog was accepted'
[ "$(grep -c 'the newest entry is of' said)" = 2 ] || fail "said of the changelogs: $(cat said)"
for file in packaging/dkms/dkms.conf.in packaging/fedora/pmukit.spec packaging/arch/PKGBUILD tools/lib/version.hpp; do
	grep -q '9\.8\.7' "$file" || fail "no new version in $file"
done

sed -i 's/^homepage=.*/homepage=/' packaging/metadata
! tools/scripts/metadata 2>said || fail 'an empty value was accepted'
