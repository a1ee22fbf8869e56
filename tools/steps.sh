# Sourced by ./quickstart and ./check: runs a step quietly, shows what it said when it fails.
# shellcheck shell=bash

# step NAME COMMAND…: one line while it goes well. Its output is kept in $step_log until the next step.
step_log=$(mktemp)
trap 'rm -f "$step_log"' EXIT
step() {
	local name=$1 start=$SECONDS status=0
	shift
	printf '%s … ' "$name"
	"$@" >"$step_log" 2>&1 </dev/null || status=$?
	if ((status)); then
		printf 'failed after %d s\n' $((SECONDS - start))
		tail -n 60 "$step_log" >&2
		printf '%s failed: %s\n' "$name" "$*" >&2
		return "$status"
	fi
	printf '%d s\n' $((SECONDS - start))
}

# build PRESET [TARGET…]: configures and builds. On a terminal ninja shows how far it is.
build() {
	local preset=$1 start=$SECONDS status=0
	shift
	local arguments=(--build --preset "$preset")
	if (($#)); then
		arguments+=(--target "$@")
	fi
	step "configuring ($preset)" cmake --preset "$preset" || return
	if [[ ! -t 1 ]]; then
		step "building ($preset)" cmake "${arguments[@]}"
		return
	fi
	NINJA_STATUS="building ($preset) [%f of %t, %e s] " cmake "${arguments[@]}" </dev/null || status=$?
	((status)) || printf 'built (%s) in %d s\n' "$preset" $((SECONDS - start))
	return "$status"
}
