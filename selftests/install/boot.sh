#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# boot.sh FOLDER FILE: installs pmukit-dkms of FOLDER in a throw-away Debian, for the kernel whose modules are in a tar on standard
# input, and writes the system to FILE, a tar. Booted with systemd.unit=pmukit-report.service, the system prints on the console
# which modules udev has loaded, and powers off.
set -euo pipefail
debs=$1 out=$2
kernel=$(ls /kernels | sort -V | head -n 1)
release=$(cat "/kernels/$kernel/release")
modules=/usr/lib/modules/$release

dpkg --force-depends -i "/kernels/$kernel"/*.deb
tar -C / --keep-directory-symlink -x
depmod "$release"
dpkg -i "$debs"/pmukit-dkms_*.deb
dkms status | grep ': installed'

cat >/etc/systemd/system/pmukit-report.service <<'UNIT'
[Unit]
Description=Report which modules are loaded
DefaultDependencies=no
Requires=sysinit.target systemd-udev-settle.service
After=sysinit.target systemd-udev-settle.service
[Service]
Type=oneshot
StandardOutput=tty
ExecStart=/usr/local/sbin/pmukit-report
UNIT
# The kernel prints nothing on the console meanwhile, so that the report is in one piece.
cat >/usr/local/sbin/pmukit-report <<'REPORT'
#!/bin/sh
dmesg -n 1
{
	echo
	echo "report: begin"
	lsmod | sed -n '2,$s/^\([^ ]*\) .*/module \1/p'
	find "/usr/lib/modules/$(uname -r)/updates" -name '*.ko*' | sed 's,.*/,installed ,; s,\.ko.*,,'
	ls /sys/bus/event_source/devices | sed 's/^/pmu /'
	echo "report: end"
} >/dev/console
echo o >/proc/sysrq-trigger
sleep 60
REPORT
chmod +x /usr/local/sbin/pmukit-report

ln -sf usr/lib/systemd/systemd /init
tar -C / --one-file-system --exclude=./proc --exclude=./sys --exclude=./dev --exclude=./src --exclude=./tmp --exclude=./kernels --exclude=./usr/src \
	--exclude=./usr/include --exclude='./usr/lib/gcc*' --exclude='./usr/libexec/gcc*' --exclude='./usr/lib/python3*' --exclude='./usr/share/*' \
	--exclude='./usr/lib/x86_64-linux-gnu/perl*' --exclude=./var/cache --exclude=./var/lib/dpkg --exclude=./var/lib/dkms --exclude='*.a' \
	-cf "/src/$out" .
ls -l "/src/$out" "$modules/updates/dkms"
