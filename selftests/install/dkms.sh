#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dkms.sh: builds, installs, upgrades and removes the modules with DKMS, in a throw-away Debian (in-debian --throw-away) with the
# sources at /src. Installs the kernels of /kernels one after the other, oldest first, as upgrades do. Loads no module. Installs the
# three packages in the order in which a user would: pmukit alone first.
set -u
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/kernel.sh"
version=$(cat VERSION)
mapfile -t kernels < <(ls /kernels | sort -V)
packages="pmukit pmukit-hisi-ptt pmukit-lab"

# quiet COMMAND...: shows the output of COMMAND only if it fails
quiet() {
	"$@" >"$work/said" 2>&1 && return 0
	sed 's/^/# /' "$work/said"
	for log in /var/lib/dkms/pmukit*/"$version"/build/make.log; do
		[ ! -e "$log" ] || tail -n 20 "$log" | sed 's/^/# /'
	done
	return 1
}
check() {
	local name=$1
	shift
	quiet "$@"
	result "$name" $?
}

release() { cat "/kernels/$1/release"; }
folder() { echo "/lib/modules/$(release "$1")"; }
modules() { tools/scripts/dkms-source "$1" | sed 's/^common$/pmukit_common/'; }
arrives() { kernel_arrives "/kernels/$1" "$(release "$1")"; }
# configured K LINE: adds LINE to the configuration files of kernel K that DKMS reads: .config, or since DKMS 3.2 (Debian 13) auto.conf.
configured() {
	local file
	for file in .config include/config/auto.conf; do
		[ ! -e "$(folder "$1")/build/$file" ] || echo "$2" >>"$(folder "$1")/build/$file"
	done
}

add() {
	local package
	for package in $packages; do
		tools/scripts/dkms-source "$package" "/usr/src/$package-$version" && dkms add "$package/$version" || return 1
	done
}
step() { dkms "$1" "$2/$version" -k "$(release "$old")"; }
# state PACKAGE K WANTED: succeeds if dkms status shows the state WANTED of PACKAGE for kernel K; WANTED is - for no state
state() {
	local said
	said=$(dkms status "$1/$version" -k "$(release "$2")" | sed -nE 's/.*: ([a-z]+).*/\1/p')
	[ "${said:--}" = "$3" ] || { echo "dkms status of $1 says '$said', not '$3'"; return 1; }
}
states() {
	local package
	for package in $packages; do
		state "$package" "$1" "$2" || return 1
	done
}
# passes_over PACKAGE KERNEL-RELEASE: succeeds if DKMS skips the build for this kernel (BUILD_EXCLUSIVE) without reporting a failure
passes_over() {
	local status=0
	dkms install "$1/$version" -k "$2" >"$work/over" 2>&1 || status=$?
	cat "$work/over"
	[ $status = 77 ] && grep -q BUILD_EXCLUSIVE "$work/over"
}
# real_time PACKAGE FILE: succeeds if DKMS skips the package for a real-time kernel, whose configuration is in FILE of its headers.
real_time() {
	local release=6.1.0-99-rt-amd64
	local headers=/lib/modules/$release/build
	rm -rf "$headers" && mkdir -p "$headers/include/config"
	echo CONFIG_64BIT=y >"$headers/$2"
	! passes_over "$1" $release && echo CONFIG_PREEMPT_RT=y >>"$headers/$2" && passes_over "$1" $release
}
# Succeeds if DKMS skips the package for a 32-bit kernel, which it recognizes by the kernel's configuration.
narrow() {
	local release=6.1.0-99-686
	mkdir -p "/lib/modules/$release/build/include"
	echo CONFIG_X86_32=y >"/lib/modules/$release/build/.config"
	passes_over "$1" $release && echo CONFIG_64BIT=y >>"/lib/modules/$release/build/.config" && ! passes_over "$1" $release
}

# in_tree K: prints the file of a stand-in for the in-tree module hisi_ptt of arm64 kernels. Like the in-tree module, the stand-in has no
# version, because DKMS would not replace a module of the same version.
in_tree() { echo "$(folder "$1")/kernel/drivers/hwtracing/ptt/hisi_ptt.ko"; }
put_in_tree() {
	mkdir -p "$work/ptt" "$(dirname "$(in_tree "$1")")"
	echo 'obj-m := hisi_ptt.o' >"$work/ptt/Kbuild"
	printf '#include <linux/module.h>\nMODULE_DESCRIPTION("stand-in");\nMODULE_LICENSE("GPL");\n' >"$work/ptt/hisi_ptt.c"
	make -C "$(folder "$1")/build" M="$work/ptt" modules &&
		cp "$work/ptt/hisi_ptt.ko" "$(in_tree "$1")" && depmod "$(release "$1")" && configured "$1" CONFIG_HISI_PTT=m
}
# Configures DKMS to build hisi_ptt, with the line that Documentation/process/installing.rst recommends.
owner_wants_ours() { sed -n 's/^#   //p' packaging/dkms/pmukit-hisi-ptt.conf >/etc/dkms/pmukit-hisi-ptt.conf; }
# loads K MODULE: prints the files that modprobe would insert, in order.
loads() { modprobe -S "$(release "$1")" --show-depends "$2" | sed -nE 's/^insmod ([^ ]*).*/\1/p'; }
comes_from() {
	local file
	file=$(loads "$1" hisi_ptt | tail -n 1)
	case $file in
	"$(folder "$1")/$2/"*) ;;
	*) echo "modprobe would load $file, not one of $2"; return 1 ;;
	esac
}

# installed K: prints the names of all modules in updates/ of kernel K.
installed() { find "$(folder "$1")" -path "*/updates/*" -name '*.ko*' -printf '%f\n' | sed 's/\.ko.*//' | sort; }
# exactly K PACKAGE...: succeeds if exactly the modules of these packages are installed for kernel K, with the version under test
exactly() {
	local k=$1 package module file
	shift
	diff <(for package in "$@"; do modules "$package"; done | sort) <(installed "$k") || return 1
	for module in $(installed "$k"); do
		file=$(modinfo -k "$(release "$k")" -F filename "$module") || return 1
		case $file in
		"$(folder "$k")"/updates/dkms/"$module".ko*) ;;
		*) echo "$module is $file"; return 1 ;;
		esac
		[ "$(modinfo -F version "$file")" = "$version" ] || { echo "$module has another version"; return 1; }
		modinfo -F vermagic "$file" | grep -q "^$(release "$k") " || { echo "$module is of another kernel"; return 1; }
	done
}
common_first() {
	local module
	for module in $(installed "$1" | grep -v pmukit_common); do
		loads "$1" "$module" | head -n 1 | grep -q '/pmukit_common\.ko' || { echo "$module: pmukit_common is not first"; return 1; }
	done
}
# Succeeds if all modules that import the same symbol of these packages have the same checksum for this symbol.
symbols_agree() {
	local file
	for file in "$(folder "$1")"/updates/dkms/*.ko*; do
		modprobe -S "$(release "$1")" --dump-modversions "$file" | grep -E 'pmukit_|cache_qos_|imc_' | awk '{ print $2, $1 }'
	done | sort -u | awk '$1 == last { print $1 " has two checksums"; bad = 1 } { last = $1; n++ } END { exit bad || !n }'
}
# Succeeds if each module is signed; prints the subject of DKMS's key.
signed() {
	local module file
	for module in $(installed "$1"); do
		file=$(modinfo -k "$(release "$1")" -F filename "$module")
		[ -n "$(modinfo -F signer "$file")" ] || { echo "$module is not signed"; return 1; }
	done
	openssl x509 -in /var/lib/dkms/mok.pub -inform der -noout -subject
}
# Succeeds if DKMS does not build cxl_hmu for a kernel that has an in-tree cxl_hmu.
leaves_cxl_hmu() {
	dkms uninstall "pmukit/$version" -k "$(release "$1")" && dkms unbuild "pmukit/$version" -k "$(release "$1")" &&
		configured "$1" CONFIG_CXL_HMU=m && dkms install "pmukit/$version" -k "$(release "$1")" &&
		diff <(modules pmukit | grep -vx cxl_hmu | sort) <(installed "$1" | grep -xF "$(modules pmukit)")
}
# Succeeds if DKMS does not install a package whose version differs from that of pmukit, and its output has the reason.
refused_of_other_version() {
	mkdir -p "$work/other" && tools/scripts/dkms-source pmukit-hisi-ptt "$work/other/pmukit-hisi-ptt-0.0.9" &&
		sed -i 's/^PACKAGE_VERSION=.*/PACKAGE_VERSION="0.0.9"/' "$work/other/pmukit-hisi-ptt-0.0.9/dkms.conf" &&
		cp -r "$work/other/pmukit-hisi-ptt-0.0.9" /usr/src/ && dkms add pmukit-hisi-ptt/0.0.9 || return 1
	! dkms install pmukit-hisi-ptt/0.0.9 -k "$(release "$old")" >"$work/refused" 2>&1 || return 1
	cat "$work/refused"
	grep -qx "pmukit-hisi-ptt 0.0.9 needs pmukit 0.0.9; DKMS has $version of pmukit: .*" "$work/refused" && dkms remove pmukit-hisi-ptt/0.0.9 --all
}
remove_all() {
	local package
	for package in $packages; do
		dkms remove "$package/$version" --all || return 1
	done
}
nothing_of() {
	local left
	left=$(find "$(folder "$1")" -name '*.ko*' ! -name own.ko ! -path "$(in_tree "$1")*")
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

old=${kernels[0]} new=${kernels[1]}

plan 28
check "the kernel headers of $old can be installed" arrives "$old"
check "dkms add accepts each package" add
check "dkms build of pmukit succeeds for $(release "$old")" step build pmukit
check "dkms status shows pmukit as built" state pmukit "$old" built
check "dkms install of pmukit succeeds" step install pmukit
check "after the installation of pmukit alone, only its modules are installed" exactly "$old" pmukit
check "dkms rejects a package of another version than pmukit and prints the reason" refused_of_other_version
check "dkms install of pmukit-lab succeeds" step install pmukit-lab
check "after an in-tree hisi_ptt is added to the kernel, modprobe would load it" eval "put_in_tree '$old' && comes_from '$old' kernel"
check "dkms skips pmukit-hisi-ptt for a kernel with an in-tree hisi_ptt" passes_over pmukit-hisi-ptt "$(release "$old")"
check "after dkms skipped pmukit-hisi-ptt, modprobe would still load the in-tree hisi_ptt" comes_from "$old" kernel
check "updates/dkms has exactly the modules of pmukit and pmukit-lab, of this version and kernel" exactly "$old" pmukit pmukit-lab
check "dkms installs pmukit-hisi-ptt if a file in /etc/dkms asks for it" eval "owner_wants_ours && step install pmukit-hisi-ptt"
check "after that, modprobe would load hisi_ptt of pmukit-hisi-ptt, not the in-tree one" comes_from "$old" updates/dkms
check "modprobe would load pmukit_common before each other module" common_first "$old"
check "modules that import the same symbol have the same checksum for it" symbols_agree "$old"
check "each module is signed, and DKMS has a key" signed "$old"
check "dkms skips a real-time kernel" real_time pmukit .config
check "dkms skips a real-time kernel whose headers have no .config" real_time pmukit include/config/auto.conf
check "dkms skips a 32-bit kernel" narrow pmukit
check "the headers of the newer kernel $new can be installed while DKMS has the packages" arrives "$new"
check "the installation of the new kernel made dkms install each package for it" states "$new" installed
check "the new kernel has exactly the modules of the three packages" exactly "$new" $packages
check "the old kernel still has exactly the modules of the three packages" exactly "$old" $packages
check "dkms does not build cxl_hmu for a kernel with an in-tree cxl_hmu" leaves_cxl_hmu "$new"
check "dkms remove --all succeeds for each package" remove_all
check "after dkms remove, modprobe would load the in-tree hisi_ptt again" comes_from "$old" kernel
nothing_of "$old" && nothing_of "$new"
result "after dkms remove, no kernel has a module of the three packages" $?
exit $tap_failed
