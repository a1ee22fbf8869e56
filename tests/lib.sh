# Sourced by the tests that run the whole program, with its path as their first argument: a folder of their own, what is
# expected of the program, and the end.
# shellcheck shell=bash

set -euo pipefail
# shellcheck disable=SC2034 # the tests use it
assay=${1:?usage: $0 PROGRAM}
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-$(basename "$0").XXXXXX")
trap 'chmod -R u+w "$work" 2>/dev/null || true; rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache NO_COLOR=1 LC_ALL=C.UTF-8
unset CC
touch "$work/out" "$work/err"
failures=0 last=''

failed() { # WHAT: with the last output
	printf 'FAILED: %s\n' "$1"
	sed 's/^/  | /' "$work/out" "$work/err" | head -40
	failures=$((failures + 1))
}
# holds TEXT: does the last output? White space counts as one blank there, since lines wrap; or as it is.
holds() {
	local joined
	joined=" $(cat "$work/out" "$work/err" | tr -s ' \n' ' ')"
	[[ $joined == *"$1"* ]] || grep -qF -- "$1" "$work/out" "$work/err"
}
# says TEXT: the last output holds it; says '!TEXT': it does not.
says() {
	if [[ $1 == '!'* ]]; then
		! holds "${1#!}" || failed "$last (it says \"${1#!}\")"
	else
		holds "$1" || failed "$last (expected \"$1\")"
	fi
}
# expect STATUSES TEXT COMMAND...: one of the exit statuses, and a text that stdout or stderr holds ("" for any).
expect() {
	local statuses=$1 text=$2 got=0
	shift 2
	last=$*
	"$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
	[[ " $statuses " == *" $got "* ]] || failed "$last (expected exit status $statuses, got $got)"
	says "$text"
}
sentence() { # of the last command: stderr is one line that begins with "assay: "
	if [[ $(wc -l <"$work/err") != 1 || $(<"$work/err") != 'assay: '* ]]; then
		failed "$last (not one sentence on stderr)"
	fi
}
# same WHAT GOT WANTED
same() {
	[[ $2 == "$3" ]] && return
	printf 'FAILED: %s: got (<), wanted (>)\n' "$1"
	diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | grep '^[<>]' || true
	failures=$((failures + 1))
}
finish() { # the end of the test
	if ((failures)); then
		printf '%d failures\n' "$failures"
		exit 1
	fi
	printf 'all as expected\n'
	exit
}
