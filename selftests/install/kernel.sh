# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts behind tap.sh: kernels of a throw-away Debian, of which only the headers are there.

# kernel_arrives FOLDER RELEASE: its packages, and a module of the kernel's own: DKMS (3.2) makes no list of modules for a kernel that
# has none but those it builds. The image, which the headers want beside them, is not there; its part is to call depmod.
kernel_arrives() {
	own=$work/own.$2
	dpkg --force-depends -i "$1"/*.deb && mkdir "$own" && echo 'obj-m := own.o' >"$own/Makefile" &&
		printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("one of the kernel");\n' >"$own/own.c" &&
		make -s -C "/lib/modules/$2/build" M="$own" modules &&
		install -D -m 644 -t "/lib/modules/$2/kernel" "$own/own.ko" && rm -r "$own" && depmod "$2"
}
