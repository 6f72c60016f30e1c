#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# deb.sh FOLDER: in a throw-away Debian, checks the packages of FOLDER with lintian, installs, uses and
# purges them. Afterwards none of their files may be left.
set -u
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/kernel.sh"
debs=$1
version=$(cat VERSION)
kernel=$(ls /kernels | sort -V | head -n 1)
release=$(cat "/kernels/$kernel/release")
host="libpmukit-dev libpmukit2 pmukit pmukit-dkms pmukit-doc"
lab="pmukit-hisi-ptt-dkms pmukit-lab-dkms"

check() {
	local name=$1 status=0
	shift
	"$@" >"$work/said" 2>&1 || status=$?
	[ $status = 0 ] || tail -n 60 "$work/said" | sed 's/^/# /'
	result "$name" $status
}

# Prints every file of the system, except those that change independently of the packages: logs, caches, databases of dpkg and depmod,
# and the key that DKMS creates when it first signs a module.
everything() {
	find / -xdev \( -path /tmp -o -path /proc -o -path /dev -o -path /src -o -path /run -o -path "/var/lib/dkms/mok.*" -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \
		-o -path "/lib/modules/$release/modules.*" -o -path "/usr/lib/modules/$release/modules.*" -o -path /root \) -prune -o -print | sort
}
install_packages() {
	local package
	for package in "$@"; do
		echo "$debs/${package}_${version}"_*.deb
	done | xargs dpkg -i
}
all_installed() {
	local package
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Abbrev} ${Version}\n' "$package" | grep -qx "ii  $version" || { echo "$package is not installed"; return 1; }
	done
}
says_version() { [ "$(pmukit --version)" = "pmukit $version" ]; }
# Exit status 1 of pmukit doctor is allowed: it reports that this machine cannot record.
doctor() {
	local status=0
	pmukit doctor || status=$?
	[ $status -le 1 ]
}
manual_pages() {
	local command
	for command in $(pmukit --help | awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on { print $1 }'); do
		dpkg -L pmukit | grep -q "/man1/pmukit-$command\.1\.gz$" || { echo "no page for $command"; return 1; }
	done
	dpkg -L libpmukit-dev | grep -q '/man3/libpmukit\.3\.gz$'
}
# Runs a test of autopkgtest with the installed packages.
autopkgtest() { mkdir "$work/$1" && AUTOPKGTEST_TMP=$work/$1 debian/tests/"$1"; }
dkms_modules() { for package in "$@"; do tools/scripts/dkms-source "${package%-dkms}"; done | sed 's/^common$/pmukit_common/' | sort; }
# modules DKMS-PACKAGE...: succeeds if exactly the modules of these packages exist, and have this version
modules() {
	local module
	diff <(dkms_modules "$@") <(find "/lib/modules/$release/updates" -name '*.ko*' -printf '%f\n' | sed 's/\.ko.*//' | sort) || return 1
	for module in $(dkms_modules "$@"); do
		[ "$(modinfo -k "$release" -F version "$module")" = "$version" ] || { echo "no $module"; return 1; }
	done
}
# Builds and installs a package like those of earlier versions, which has the modules of all three packages, and the catalog.
old_package() {
	local tree=$work/old package
	mkdir -p "$tree"
	for package in pmukit-lab pmukit-hisi-ptt pmukit; do
		dpkg-deb -x "$debs/$package-dkms_${version}_all.deb" "$tree" && mkdir -p "$tree/usr/src/pmukit-0.0.9" &&
			cp -r "$tree/usr/src/$package-$version"/* "$tree/usr/src/pmukit-0.0.9/" && rm -r "$tree/usr/src/$package-$version" || return 1
	done
	rm -r "$tree/usr/share"
	dpkg-deb -e "$debs/pmukit-dkms_${version}_all.deb" "$tree/DEBIAN"
	rm "$tree/DEBIAN/md5sums"
	sed -i "s/$version/0.0.9/g" "$tree"/DEBIAN/*
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"0.0.9\"/
		s,^pmukit_modules=.*,pmukit_modules=\"common/pmukit_common $(dkms_modules $lab | sed 's,.*,&/&,' | xargs)\"," \
		"$tree/usr/src/pmukit-0.0.9/dkms.conf"
	dpkg-deb --root-owner-group -b "$tree" "$work/pmukit-dkms_0.0.9_all.deb" && dpkg -i "$work/pmukit-dkms_0.0.9_all.deb" &&
		[ -n "$(modinfo -k "$release" -F version uncore_pmon)" ]
}
# An upgrade without the other two packages removes their modules; DKMS no longer lists the old version.
upgrade_leaves_host_modules() { install_packages pmukit-dkms && modules pmukit-dkms && ! dkms status | grep -F 0.0.9; }
rules() { udevadm verify --resolve-names=never /usr/lib/udev/rules.d/60-pmukit.rules; }
service() {
	mkdir -p /etc/pmukit && cp /usr/share/doc/pmukit/examples/record.conf /etc/pmukit/hot.conf &&
		systemd-analyze verify --man=no pmukit-record@hot.service && rm -r /etc/pmukit &&
		systemd-analyze security --offline=true --threshold=30 pmukit-record@.service
}
# Checks the examples, including their lines that are commented out.
examples() {
	local folder=/usr/share/doc/pmukit/examples
	sed -n 's/^#\([a-z]*\.[a-z_.]* = \)/\1/p' $folder/sysctl.conf >"$work/sysctl.conf" && sysctl --dry-run -p "$work/sysctl.conf" &&
		sed 's/^#\([a-z]\)/\1/' $folder/modprobe.conf >"$work/modprobe.conf" &&
		modprobe -C "$work/modprobe.conf" -c | grep -qx 'options cxl_hmu standalone=1'
}
purge() { dpkg --purge pmukit-doc pmukit-dkms libpmukit-dev pmukit libpmukit2 $lab; }
nothing_left() {
	everything >"$work/after"
	diff "$work/before" "$work/after"
}

plan 20
check 'lintian finds no error' lintian --fail-on error --allow-root "$debs"/pmukit_*.changes
grep -E '^[EW]:' "$work/said" | sed 's/^/# /'
check 'rpmlint finds no error in the Fedora spec' rpmlint -c packaging/fedora/rpmlint.toml packaging/fedora/pmukit.spec
kernel_arrives "/kernels/$kernel" "$release" >"$work/said" 2>&1
result "the kernel headers of $release can be installed" $?
everything >"$work/before"
check 'an old package with the modules of all three packages can be installed' old_package
check 'after an upgrade of pmukit-dkms, only its own modules are installed' upgrade_leaves_host_modules
check 'the packages can be installed' install_packages $host
check 'dpkg shows the packages as installed' all_installed $host
check 'pmukit --version prints the version of the packages' says_version
check 'pmukit doctor runs' doctor
check 'each command and the library have a manual page' manual_pages
check 'a program outside of the source tree can find, link and load the library' autopkgtest library
check 'the command pmukit reports the corpus' autopkgtest command
check "only the modules of pmukit-dkms are installed for $release" modules pmukit-dkms
check 'the other DKMS packages can be installed' install_packages $lab
check "the modules of all DKMS packages are installed" modules pmukit-dkms $lab
check 'the udev rule is valid' rules
check 'the systemd service is valid' service
check 'the examples for sysctl.d and modprobe.d are valid' examples
check 'the packages can be purged' purge
check 'the purge leaves no file' nothing_left
exit $tap_failed
