# SPDX-License-Identifier: GPL-2.0-only
# Functions for private apt trees, sourced by setup, debug-kernel and others: apt resolves and checks packages of a suite, and the
# functions unpack them into the user's cache. The calling script must set the variables $here, $print_only and $missing.

cache=${PMUKIT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pmukit}

say() { printf 'set-up: %s\n' "$*"; }
die() { printf 'set-up: %s\n' "$*" >&2; exit 69; }
megabytes() { echo $((($1 + 999999) / 1000000)); }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else die "'$1' needs root: run 'make setup' as root once, or install sudo"
	fi
}

# Prints the sum of the sizes in the output of 'apt-get --print-uris'.
uri_bytes() { awk '/^\047/ { sum += $3 } END { print sum + 0 }'; }

# Prints the mirror from which the system gets its own Debian packages.
mirror() {
	local found
	found=${PMUKIT_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" { print $1; exit }')}
	if [ -z "$found" ]; then
		as_root apt-get -q update >&2
		found=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' |
			awk '$2 == "Debian" { print $1; exit }')
	fi
	[ -n "$found" ] || die "no Debian mirror in /etc/apt: name one by PMUKIT_MIRROR=<URI>"
	echo "$found"
}

keyrings() {
	find /usr/share/keyrings -name 'debian-archive-*.gpg' ! -name '*removed*' | sort | paste -sd,
}

# Foreign architectures (as dpkg calls them) of the apt trees for amd64.
foreign=arm64

# apt_prepare TREE ARCH RELEASE SUITE...: prepares a private apt for one tree, with an empty status. Trees of the same suites share
# up-to-date lists, and apt's caches of these lists. forget_lists removes the lists when no other script uses them.
apt_prepare() {
	local tree=$1 arch=$2 release=$3 suite dir lists
	shift 3
	dir=$cache/apt/$tree
	lists=$cache/apt/lists/$arch.$(echo "$*" | tr ' ' .)
	[ "$foreign" = arm64 ] || lists=$lists.$(echo "$foreign" | tr ' ' .)
	exec 8>"$cache/.lock-lists"
	flock -s 8
	mkdir -p "$dir/state" "$lists/partial" "$dir/cache/archives/partial" "$dir/debs"
	: >"$dir/status"
	cat >"$dir/apt.conf" <<-CONF
	Dir::State "$dir/state";
	Dir::State::lists "$lists";
	Dir::State::status "$dir/status";
	Dir::Cache "$dir/cache";
	Dir::Cache::pkgcache "$lists.pkgcache";
	Dir::Cache::srcpkgcache "$lists.srcpkgcache";
	Dir::Etc::sourcelist "$dir/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	APT::Architecture "$arch";
	APT::Default-Release "$release";
	APT::Install-Recommends "false";
	APT::Sandbox::User "";
	Acquire::Languages "none";
	Acquire::Check-Valid-Until "false";
	CONF
	if [ "$arch" = amd64 ]; then
		echo "APT::Architectures { \"amd64\"; $(printf '"%s"; ' $foreign)};" >>"$dir/apt.conf"
	else
		echo "APT::Architectures { \"$arch\"; };" >>"$dir/apt.conf"
	fi
	for suite in "$@"; do
		echo "deb [signed-by=$(keyrings)] $(mirror) $suite main"
	done >"$dir/sources.list"
	exec 7>"$lists.lock"
	flock 7
	if [ -z "$(find "$lists.updated" -mmin -600 2>/dev/null)" ]; then
		say "$tree: fetching package lists of: $*"
		apt-get -q -c "$dir/apt.conf" update || die "$tree: apt-get update failed"
		touch "$lists.updated"
	fi
	exec 7>&-
}
forget_lists() {
	exec 8>"$cache/.lock-lists"
	! flock -n 8 || rm -rf "${cache:?}/apt/lists"
	exec 8>&-
}

# The newest guest kernel is from Debian backports, where newer versions replace it. Its name stays K=7.2. If the suites no longer
# have 7.2, the newer kernel is used, with a warning.
rolling='7\.2'

# matching TREE REGEX: prints the newest package name, by version, that matches; nothing if none does
matching() {
	apt-cache -c "$cache/apt/$1/apt.conf" pkgnames | { grep -E "^$2\$" || true; } | sort -V | tail -n 1
}

# newest TREE REGEX: prints the newest package name that matches. If the kernel named by $rolling is gone, prints that of a later
# kernel.
newest() {
	local name
	name=$(matching "$1" "$2")
	case $name$2 in
	*"$rolling"*)
		[ -n "$name" ] || name=$(matching "$1" "${2//"$rolling"/[0-9]+\\.[0-9]+}")
		case $name in
		'' | *-"${rolling/\\/}"*) ;;
		*) say "$1: no Linux ${rolling/\\/} in the suites any more; taking $name for it, which was not tested" >&2 ;;
		esac
		;;
	esac
	[ -n "$name" ] || die "$1: no package matches '$2' in the mirror's suites"
	echo "$name"
}

# newest_there TREE REGEX SUFFIX: like newest, but prints the newest package that can be downloaded, and downloads it. Mirrors have new
# packages of some architectures later than the package lists say.
newest_there() {
	local name
	for name in $(apt-cache -c "$cache/apt/$1/apt.conf" pkgnames | grep -E "^$2\$" | sort -rV); do
		! (cd "$cache/apt/$1/debs" && apt-get -q -c "$cache/apt/$1/apt.conf" download "$name$3") >/dev/null 2>&1 ||
			{ echo "$name"; return; }
	done
	die "$1: the mirror has no package that matches '$2'"
}

# fetch TREE "SOLVED PACKAGES" "SINGLE PACKAGES": downloads SOLVED PACKAGES with their dependencies, and SINGLE PACKAGES without.
fetch() {
	local tree=$1 solved=$2 single=$3 dir uris bytes package
	dir=$cache/apt/$tree
	# shellcheck disable=SC2086
	uris=$([ -z "$solved" ] || apt-get -c "$dir/apt.conf" install -y --print-uris $solved) ||
		die "$tree: apt cannot resolve: $solved"
	# shellcheck disable=SC2086
	bytes=$( (echo "$uris"; [ -z "$single" ] || apt-get -c "$dir/apt.conf" download --print-uris $single) | uri_bytes)
	say "$tree: $(megabytes "$bytes") MB to fetch"
	# shellcheck disable=SC2086
	[ -z "$solved" ] || apt-get -q -c "$dir/apt.conf" install -y --download-only $solved |
		awk '/^(Get|Fetched|Err|E:|W:)/' || stale_lists "$tree"
	for package in $single; do
		(cd "$dir/debs" && apt-get -q -c "$dir/apt.conf" download "$package") || stale_lists "$tree"
	done
}

# The mirror no longer has a package in the lists: removes lists and packages, so that the next run fetches a consistent set.
stale_lists() {
	rm -f "$cache"/apt/lists/*.updated "$cache/apt/$1"/debs/*.deb "$cache/apt/$1"/cache/archives/*.deb
	die "$1: download failed: check the network and run 'make setup' again"
}

# unpack TREE TARGET: unpacks every fetched package into TARGET.partial, with merged /usr as in Debian. One process per processor
# runs.
unpack() {
	local tree=$1 target=$2 dir name
	dir=$cache/apt/$tree
	say "$tree: unpacking $(find "$dir/debs" "$dir/cache/archives" -maxdepth 1 -name '*.deb' | wc -l) packages"
	rm -rf "$target.partial"
	mkdir -p "$target.partial"/usr/{bin,lib,lib64,sbin}
	for name in bin lib lib64 sbin; do
		ln -s "usr/$name" "$target.partial/$name"
	done
	# shellcheck disable=SC2016
	find "$dir/cache/archives" "$dir/debs" -maxdepth 1 -name '*.deb' -print0 | sort -z |
		xargs -0 -n 1 -P "$(nproc)" bash -o pipefail -c '
			dpkg-deb --fsys-tarfile "$2" |
				tar -x --keep-directory-symlink --no-same-owner -C "$1" \
					--exclude "./usr/share/doc/*" --exclude "./usr/share/man/*" --exclude "./usr/share/locale/*" ||
				{ echo "set-up: cannot unpack $2" >&2; exit 1; }' unpack "$target.partial" ||
		die "$tree: remove the package that is named above and try again"
}

# unpack_beside TREE TARGET LEFT-OUT...: unpacks every fetched package into an existing tree, without replacing its files.
unpack_beside() {
	local tree=$1 target=$2 dir=$cache/apt/$1 deb name
	shift 2
	for name in "$@"; do
		shift
		set -- "$@" --exclude "$name"
	done
	for deb in "$dir"/cache/archives/*.deb "$dir"/debs/*.deb; do
		[ -e "$deb" ] || continue
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner --skip-old-files -C "$target" "$@" ||
			die "$tree: cannot unpack $deb"
	done
	rm -rf "${cache:?}/apt/$tree"
}

# finish TREE TARGET RECIPE: marks the tree as complete and removes the downloads. Removes an old tree with another recipe as soon
# as no process runs in it; in-root and in-debian hold a lock on a tree.
finish() {
	echo "$3" >"$2.partial/.recipe"
	if [ -d "$2" ]; then
		exec 3<"$2"
		flock -n 3 || { say "$1: waiting for processes in $2"; flock 3; }
		rm -rf "$2"
		exec 3<&-
	fi
	mv "$2.partial" "$2"
	rm -rf "${cache:?}/apt/$1"
	say "$1: ready in $2"
}

# done_already TARGET RECIPE: true if TARGET is complete and was made with RECIPE
done_already() { [ "$(cat "$1/.recipe" 2>/dev/null)" = "$2" ]; }

would_fetch() {
	say "would fetch into $2 (about $3 MB): $1"
	missing=1
}

# with_lock NAME FUNCTION ARG...: runs FUNCTION under the lock NAME, which is held until the next with_lock or the end of the
# script. On Ctrl-C, prints how to continue.
with_lock() {
	mkdir -p "$cache"
	exec 9>"$cache/.lock-$1"
	flock -n 9 || { say "another $1 is running: waiting for it"; flock 9; }
	shift
	trap 'die "failed at line $LINENO of $0"' ERR
	trap 'say "interrupted: run it again to go on where it stopped"; exit 130' INT TERM
	"$@"
}
