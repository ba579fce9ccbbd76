#!/bin/sh
# bench/gate.sh PROGRAM FIGURES [--update]: counts the instructions of each case of PROGRAM under
# callgrind and compares with FIGURES ("case count" lines). A rise over 5 % fails; --update writes
# the counts down instead. Without valgrind there is nothing to count, and it says so.
set -eu
program=$1
figures=$2
allowed=5 # per cent

if ! command -v valgrind >/dev/null; then
    echo 'bench-gate: skipped: no valgrind here'
    exit 0
fi

count() { # case
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=gate_measured \
        "$program" "$1" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

new=$(mktemp)
trap 'rm -f "$new"' EXIT
for name in $("$program"); do
    echo "$name $(count "$name")"
done >"$new"

if [ "${3-}" = --update ]; then
    sed -n '/^#/p' "$figures" | cat - "$new" >"$new.all"
    mv "$new.all" "$figures"
    exit 0
fi

awk -v allowed="$allowed" '
    /^#/ { next }
    FNR == NR { before[$1] = $2; next }
    !($1 in before) || $2 == "" { printf "%-24s %9s, no figure to compare with\n", $1, $2; bad = 1; next }
    {
        change = ($2 / before[$1] - 1) * 100
        worse = change > allowed
        printf "%-24s %9d, %+.1f %% of %d%s\n", $1, $2, change, before[$1], worse ? ": too much" : ""
        bad += worse
    }
    END { exit bad > 0 }' "$figures" "$new"
