#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dkms.sh: builds, installs, upgrades and removes the modules with DKMS, in a throw-away Debian (in-debian --throw-away) with the
# sources at /src. The kernels of /kernels are installed one after the other, oldest first, as by upgrades. No module is loaded.
# The three packages are installed as a user would: pmukit alone first.
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
# configured K LINE: adds LINE to the kernel's configuration for DKMS, which reads auto.conf since 3.2 (Debian 13).
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
# state PACKAGE K WANTED: succeeds if dkms status shows the state WANTED of PACKAGE for kernel K; -: no state
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
# A real-time kernel is recognized by its configuration.
real_time() {
	local release=6.1.0-99-rt-amd64
	mkdir -p "/lib/modules/$release/build/include"
	echo CONFIG_64BIT=y >"/lib/modules/$release/build/.config"
	! passes_over "$1" $release && echo CONFIG_PREEMPT_RT=y >>"/lib/modules/$release/build/.config" && passes_over "$1" $release
}
# A 32-bit kernel is recognized by its configuration.
narrow() {
	local release=6.1.0-99-686
	mkdir -p "/lib/modules/$release/build/include"
	echo CONFIG_X86_32=y >"/lib/modules/$release/build/.config"
	passes_over "$1" $release && echo CONFIG_64BIT=y >>"/lib/modules/$release/build/.config" && ! passes_over "$1" $release
}

# A stand-in for the in-tree hisi_ptt of arm64 kernels, in the folder of the kernel's modules. Like the in-tree module, the stand-in has
# no version, because DKMS would not replace a module of the same version.
in_tree() { echo "$(folder "$1")/kernel/drivers/hwtracing/ptt/hisi_ptt.ko"; }
put_in_tree() {
	mkdir -p "$work/ptt" "$(dirname "$(in_tree "$1")")"
	echo 'obj-m := hisi_ptt.o' >"$work/ptt/Kbuild"
	printf '#include <linux/module.h>\nMODULE_DESCRIPTION("stand-in");\nMODULE_LICENSE("GPL");\n' >"$work/ptt/hisi_ptt.c"
	make -C "$(folder "$1")/build" M="$work/ptt" modules &&
		cp "$work/ptt/hisi_ptt.ko" "$(in_tree "$1")" && depmod "$(release "$1")" && configured "$1" CONFIG_HISI_PTT=m
}
# Applies the line that Documentation/process/installing.rst recommends.
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
# exactly K PACKAGE...: succeeds if exactly the modules of these packages are installed, of this version and for this kernel
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
# Succeeds if all modules that import a symbol of these packages have the same checksum for the symbol.
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
# For a kernel with an in-tree cxl_hmu, DKMS does not build cxl_hmu.
leaves_cxl_hmu() {
	dkms uninstall "pmukit/$version" -k "$(release "$1")" && dkms unbuild "pmukit/$version" -k "$(release "$1")" &&
		configured "$1" CONFIG_CXL_HMU=m && dkms install "pmukit/$version" -k "$(release "$1")" &&
		diff <(modules pmukit | grep -vx cxl_hmu | sort) <(installed "$1" | grep -xF "$(modules pmukit)")
}
# A package whose version differs from that of pmukit is not installed; the output has the reason.
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

plan 27
check "headers of $old arrive" arrives "$old"
check "dkms add of each package" add
check "dkms build, $(release "$old")" step build pmukit
check "status: built" state pmukit "$old" built
check "dkms install" step install pmukit
check "of pmukit alone: no engine, no simulator, nothing that the kernel may have" exactly "$old" pmukit
check "a package of another version than pmukit is refused, with a line" refused_of_other_version
check "dkms install of pmukit-lab" step install pmukit-lab
check "a hisi_ptt of the kernel's own is there, and is what modprobe would load" eval "put_in_tree '$old' && comes_from '$old' kernel"
check "pmukit-hisi-ptt is passed over for it" passes_over pmukit-hisi-ptt "$(release "$old")"
check "and the kernel's own is what modprobe would load" comes_from "$old" kernel
check "every module of pmukit and pmukit-lab in updates/dkms, of this version and kernel" exactly "$old" pmukit pmukit-lab
check "by one line of the owner's it is installed" eval "owner_wants_ours && step install pmukit-hisi-ptt"
check "and modprobe takes hisi_ptt from updates/dkms before kernel/" comes_from "$old" updates/dkms
check "modprobe takes pmukit_common first" common_first "$old"
check "the packages agree on the checksums of their symbols" symbols_agree "$old"
check "signed with DKMS's own key" signed "$old"
check "a real-time kernel is passed over" real_time pmukit
check "a 32-bit kernel is passed over" narrow pmukit
check "headers of $new arrive: the kernel is upgraded" arrives "$new"
check "status: installed, by DKMS itself" states "$new" installed
check "every module, of the new kernel" exactly "$new" $packages
check "and still of the old one" exactly "$old" $packages
check "a kernel with a cxl_hmu of its own keeps it" leaves_cxl_hmu "$new"
check "dkms remove --all" remove_all
check "modprobe takes the kernel's own hisi_ptt again" comes_from "$old" kernel
nothing_of "$old" && nothing_of "$new"
result "no module is left" $?
exit $tap_failed
