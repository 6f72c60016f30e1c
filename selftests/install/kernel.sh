# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts after tap.sh: kernels of a throw-away Debian, with headers only.

# kernel_arrives FOLDER RELEASE: installs the header packages of FOLDER, and a dummy module of the kernel, because DKMS 3.2 makes no list
# of modules for a kernel that has only modules built by DKMS. Also calls depmod, because the image package, on which the headers depend,
# is not installed.
kernel_arrives() {
	own=$work/own.$2
	dpkg --force-depends -i "$1"/*.deb && mkdir "$own" && echo 'obj-m := own.o' >"$own/Makefile" &&
		printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("one of the kernel");\n' >"$own/own.c" &&
		make -s -C "/lib/modules/$2/build" M="$own" modules &&
		install -D -m 644 -t "/lib/modules/$2/kernel" "$own/own.ko" && rm -r "$own" && depmod "$2"
}
