#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dkms.sh: the life of the modules under DKMS, in a throw-away Debian (in-debian --throw-away) with the sources at /src.
# The kernels of /kernels come one after the other, oldest first, as they would on a machine that is kept. Nothing is loaded.
set -u
. "$(dirname "$0")/../lib/tap.sh"
version=$(cat VERSION)
mapfile -t kernels < <(ls /kernels | sort -V)
modules="cache_qos cache_qos_sim cxl_hmu hisi_ptt imc imc_engine pmukit_common uncore_pmon"

# quiet COMMAND...: its words only if it fails
quiet() {
	"$@" >"$work/said" 2>&1 && return 0
	sed 's/^/# /' "$work/said"
	for log in /var/lib/dkms/pmukit/"$version"/build/make.log; do
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
# The image, which the headers want beside them, is not there; its part is to call depmod.
arrives() { dpkg --force-depends -i "/kernels/$1"/*.deb && depmod "$(release "$1")"; }
# state K WANTED...: what dkms says of K, one of the words.
state() {
	local said
	said=$(dkms status pmukit/"$version" -k "$(release "$1")" | sed -nE 's/.*: ([a-z]+).*/\1/p')
	[ "$said" = "$2" ] || { echo "dkms status says '$said', not '$2'"; return 1; }
}
folder() { echo "/lib/modules/$(release "$1")"; }

# A stand-in for the module that arm64 kernels bring, where the kernel's own modules stand. Like that one it has no version:
# DKMS would leave one of the same version where it is.
in_tree() { echo "$(folder "$1")/kernel/drivers/hwtracing/ptt/hisi_ptt.ko"; }
put_in_tree() {
	mkdir -p "$work/ptt" "$(dirname "$(in_tree "$1")")"
	echo 'obj-m := hisi_ptt.o' >"$work/ptt/Kbuild"
	printf '#include <linux/module.h>\nMODULE_DESCRIPTION("stand-in");\nMODULE_LICENSE("GPL");\n' >"$work/ptt/hisi_ptt.c"
	make -C "$(folder "$1")/build" M="$work/ptt" modules &&
		cp "$work/ptt/hisi_ptt.ko" "$(in_tree "$1")" && depmod "$(release "$1")"
}
# loads K MODULE: the files that modprobe would insert, in order.
loads() { modprobe -S "$(release "$1")" --show-depends "$2" | sed -nE 's/^insmod ([^ ]*).*/\1/p'; }
comes_from() {
	local file
	file=$(loads "$1" hisi_ptt | tail -n 1)
	case $file in
	"$(folder "$1")/$2/"*) ;;
	*) echo "modprobe would load $file, not one of $2"; return 1 ;;
	esac
}

all_there() {
	local module file
	for module in $modules; do
		file=$(modinfo -k "$(release "$1")" -F filename "$module") || return 1
		case $file in
		"$(folder "$1")"/updates/dkms/"$module".ko*) ;;
		*) echo "$module is $file"; return 1 ;;
		esac
		[ "$(modinfo -k "$(release "$1")" -F version "$module")" = "$version" ] || { echo "$module has another version"; return 1; }
		modinfo -k "$(release "$1")" -F vermagic "$module" | grep -q "^$(release "$1") " || { echo "$module is of another kernel"; return 1; }
	done
}
common_first() {
	local module
	for module in cxl_hmu hisi_ptt imc uncore_pmon cache_qos; do
		loads "$1" "$module" | head -n 1 | grep -q '/pmukit_common\.ko' || { echo "$module: pmukit_common is not first"; return 1; }
	done
}
# Signed by DKMS's own key: the last words of a signed module, and the name that the key was made with.
signed() {
	local module file
	for module in $modules; do
		file=$(modinfo -k "$(release "$1")" -F filename "$module")
		[ -n "$(modinfo -F signer "$file")" ] || { echo "$module is not signed"; return 1; }
	done
	openssl x509 -in /var/lib/dkms/mok.pub -inform der -noout -subject
}
nothing_of() {
	local left
	left=$(find "$(folder "$1")" -name '*.ko*' ! -path "$(in_tree "$1")*")
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

old=${kernels[0]} new=${kernels[1]}
add() { tools/scripts/dkms-source "/usr/src/pmukit-$version" && dkms add "pmukit/$version"; }
step() { dkms "$1" "pmukit/$version" -k "$(release "$old")"; }
remove_all() { dkms remove "pmukit/$version" --all; }
added() { dkms status "pmukit/$version" | grep -q ': added'; }

plan 20
check "headers of $old arrive" arrives "$old"
check "dkms add" add
check "status: added" added
check "dkms build, $(release "$old")" step build
check "status: built" state "$old" built
check "a hisi_ptt of the kernel's own is there" put_in_tree "$old"
check "and is what modprobe would load" comes_from "$old" kernel
check "dkms install" step install
check "status: installed" state "$old" installed
check "every module in updates/dkms, of this version and kernel" all_there "$old"
check "modprobe takes hisi_ptt from updates/dkms before kernel/" comes_from "$old" updates/dkms
check "modprobe takes pmukit_common first" common_first "$old"
check "signed with DKMS's own key" signed "$old"
check "headers of $new arrive: the kernel is upgraded" arrives "$new"
check "status: installed, without a word of ours" state "$new" installed
check "every module, of the new kernel" all_there "$new"
check "and still of the old one" all_there "$old"
check "dkms remove --all" remove_all
check "modprobe takes the kernel's own hisi_ptt again" comes_from "$old" kernel
nothing_of "$old" && nothing_of "$new"
result "no module is left" $?
exit $tap_failed
