# Shared by the scripts of this folder, which source it; it does nothing by itself.
# It sets $root (the checkout), $scratch (a directory that is removed at the end) and $tools (a
# cache outside the checkout for programs that the tests use).
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/godwit/bin
child=
export GOWORK=off

# A signal must not leave a child behind that has servers of its own to stop: wait for it.
cleanup() {
	local status=$?
	trap - EXIT INT TERM HUP
	if [ -n "$child" ] && kill -TERM "$child" 2>/dev/null; then
		wait "$child" || true
	fi
	rm -rf "$scratch"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# say prints a line to standard error, so that a script's standard output stays its result.
say() { printf '%s\n' "$*" >&2; }

# build PACKAGE FILE [FLAGS...] builds a command of this module.
build() {
	local package=$1 file=$2
	shift 2
	(cd "$root" && go build "$@" -o "$file" "$package")
}

# godwit_binary prints the path of the server to test: $GODWIT_BIN, or a fresh build.
godwit_binary() {
	if [ -n "${GODWIT_BIN:-}" ]; then
		realpath "$GODWIT_BIN"
		return
	fi
	build ./cmd/godwit "$scratch/godwit"
	printf '%s\n' "$scratch/godwit"
}

# tool NAME PACKAGE VERSION installs a program into the cache, once per version, and prints its
# path. It builds with the go command of the path.
tool() {
	local name=$1 package=$2 version=$3
	local file=$tools/$name-$version
	if [ ! -x "$file" ]; then
		say "installing $name $version"
		mkdir -p "$tools" "$scratch/install-$name"
		(cd "$scratch" && GOFLAGS="" GOBIN="$scratch/install-$name" go install "$package@$version") || return 1
		# Renamed in one step: another run may be doing the same.
		mv "$scratch/install-$name/$name" "$file.$$" && mv "$file.$$" "$file" || return 1
	fi
	printf '%s\n' "$file"
}

# run_child runs a command that stops its own servers when it gets a signal.
run_child() {
	local status=0
	"$@" &
	child=$!
	wait "$child" || status=$?
	child=
	return "$status"
}
