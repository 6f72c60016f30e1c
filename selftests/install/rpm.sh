#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# rpm.sh FOLDER: in a throw-away Debian, checks files and dependencies of the packages of FOLDER, installs them with rpm, uses them, builds
# the modules with DKMS, and removes the packages. Afterwards no file may be left. Checks dependencies between these packages by their
# names only, because Fedora's packages are not installed.
set -u
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/kernel.sh"
rpms=$1
version=$(cat VERSION)
kernel=$(ls /kernels | sort -V | head -n 1)
release=$(cat "/kernels/$kernel/release")
names="pmukit pmukit-libs pmukit-devel pmukit-static pmukit-dkms pmukit-hisi-ptt-dkms pmukit-lab-dkms pmukit-doc"

check() {
	local name=$1 status=0
	shift
	"$@" >"$work/said" 2>&1 || status=$?
	[ $status = 0 ] || tail -n 60 "$work/said" | sed 's/^/# /'
	result "$name" $status
}
# Runs rpm with a separate database, because this system uses dpkg.
rpm_() { rpm --dbpath "$work/rpm" "$@"; }
file_of() { ls "$rpms/$1-$version"-*."$(uname -m)".rpm "$rpms/$1-$version"-*.noarch.rpm 2>/dev/null; }
# Prints every file, except those that change independently of the packages: caches, the indexes of depmod, and the key that DKMS creates
# when it first signs a module.
everything() {
	find / -xdev \( -path /tmp -o -path /proc -o -path /dev -o -path /src -o -path /run -o -path "/var/lib/dkms/mok.*" -o -path /var/log -o -path /var/cache \
		-o -path "/usr/lib/modules/$release/modules.*" -o -path "/lib/modules/$release/modules.*" -o -path /root \) -prune -o -print | sort
}

all_are_there() {
	local name
	for name in $names; do
		[ "$(file_of "$name" | wc -l)" = 1 ] || { echo "no package $name"; return 1; }
	done
	[ -e "$rpms/pmukit-$version-1.src.rpm" ] && [ "$(find "$rpms" -name '*.rpm' | wc -l)" = 9 ]
}
fields() {
	local name
	for name in $names; do
		rpm_ -qp --qf '%{name} %{version} %{url} %{license}\n' "$(file_of "$name")"
	done | tee /dev/stderr | grep -cx "pmukit[a-z-]* $version $(sed -n 's/^homepage=//p' packaging/metadata) .*\(GPL-2\.0-only\|BSD-2-Clause\).*" | grep -qx 8
}
wants() { rpm_ -qp --requires "$(file_of "$1")" | grep -qx "$2" || { rpm_ -qp --requires "$(file_of "$1")"; return 1; }; }
dependencies() {
	wants pmukit-devel 'pmukit-libs.* = .*' && wants pmukit-static 'pmukit-devel.* = .*' && wants pmukit-dkms dkms &&
		wants pmukit-lab-dkms "pmukit-dkms = $version-1" && wants pmukit-hisi-ptt-dkms "pmukit-dkms = $version-1"
}
# Succeeds if no package contains a test, a model or a build path, and if the manual pages, the completion, the service and the udev rule
# are in the folders that Fedora uses.
contents() {
	local file
	for file in "$rpms"/*.rpm; do
		case $file in *.src.rpm) ;; *) rpm_ -qlp "$file" ;; esac
	done >"$work/files"
	! grep -E '_test|/bench|pmukit-model|/tmp/' "$work/files" | grep -v /usr/share/doc/ || return 1
	for file in /usr/bin/pmukit /usr/bin/pmukit-encode /usr/lib64/libpmukit.so.2 /usr/lib64/libpmukit.so /usr/lib64/libpmukit.a \
		/usr/lib64/pkgconfig/libpmukit.pc /usr/include/libpmukit/perfdata/reader.hpp /usr/lib/systemd/system/pmukit-record@.service \
		/usr/lib/sysusers.d/pmukit.conf /usr/lib/udev/rules.d/60-pmukit.rules /usr/share/bash-completion/completions/pmukit; do
		grep -qx "$file" "$work/files" || { echo "no $file"; return 1; }
	done
	grep -q '/man1/pmukit-record\.1' "$work/files" && grep -q '/man3/libpmukit\.3' "$work/files" && grep -q 'html/index\.html$' "$work/files"
}
no_file_twice() {
	local name
	for name in $names; do rpm_ -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$(file_of "$name")"; done | grep -v '^d' |
		grep -v /usr/share/licenses/ | sort | uniq -d | grep . && return 1
	return 0
}
install_all() {
	local name
	for name in $names; do file_of "$name"; done | xargs rpm --dbpath "$work/rpm" --nodeps -i
}
says_version() { [ "$(pmukit --version)" = "pmukit $version" ]; }
# Sets LD_LIBRARY_PATH, because Debian does not search lib64 for libraries.
builds_example() {
	cmake -S tools/lib/example -B "$work/example" -Dpmukit_DIR=/usr/lib64/cmake/pmukit && cmake --build "$work/example" &&
		LD_LIBRARY_PATH=/usr/lib64 ldd "$work"/example/hot_pages | grep 'libpmukit\.so\.2 => /usr/lib64/'
}
reports() { mkdir "$work/reports" && AUTOPKGTEST_TMP=$work/reports debian/tests/command; }
# Builds for the kernel whose headers are installed; on Fedora the scriptlets build for the running kernel.
dkms_builds() { dkms autoinstall -k "$release"; dkms status | tee /dev/stderr | grep -c "^pmukit.*/$version, $release.*: installed" | grep -qx 3; }
modules() {
	local module package
	for package in pmukit pmukit-hisi-ptt pmukit-lab; do tools/scripts/dkms-source $package; done | sed 's/^common$/pmukit_common/' | sort >"$work/modules"
	diff "$work/modules" <(find "/lib/modules/$release/updates" "/lib/modules/$release/extra" -name '*.ko*' -printf '%f\n' 2>/dev/null | sed 's/\.ko.*//' | sort) || return 1
	while read -r module; do
		[ "$(modinfo -k "$release" -F version "$module")" = "$version" ] || { echo "$module is of another version"; return 1; }
	done <"$work/modules"
}
remove_all() { echo "$names" | tr ' ' '\n' | tac | xargs rpm --dbpath "$work/rpm" --nodeps -e; }
nothing_left() {
	everything >"$work/after"
	diff "$work/before" "$work/after"
}

plan 16
mkdir "$work/rpm"
check 'rpmlint finds no error in the spec' rpmlint -c packaging/fedora/rpmlint.toml packaging/fedora/pmukit.spec
check 'all packages and the source package were built' all_are_there
check 'each package has the version, home page and license of the project' fields
check 'the packages depend on each other as expected' dependencies
check 'the files are in the folders of Fedora, and no test is packaged' contents
check 'no file is in two packages' no_file_twice
kernel_arrives "/kernels/$kernel" "$release" >"$work/said" 2>&1
result "the kernel headers of $release can be installed" $?
# Folders that belong to Fedora packages, which are not installed here.
mkdir -p /usr/lib/firmware /usr/lib64/cmake /usr/lib64/pkgconfig /usr/share/licenses
everything >"$work/before"
check 'the packages can be installed' install_all
check 'pmukit --version prints the version of the packages' says_version
check 'the command pmukit reports the corpus' reports
check 'a program outside of the source tree can be built and linked with the library' builds_example
check "DKMS has the three packages and builds them for $release" dkms_builds
check 'exactly the modules of these packages are installed, with this version' modules
check 'the packages can be removed' remove_all
check 'after the removal, DKMS has no package of pmukit' sh -c '! dkms status | grep pmukit'
check 'the removal leaves no file' nothing_left
exit $tap_failed
