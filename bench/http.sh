#!/bin/sh
# bench/http.sh BUILD [ROUNDS]: what reading a memory file costs over HTTP, against a bare reply of
# libmicrohttpd with the same bytes and as many threads.
#
# Both serve at once; wrk asks one, then the other, in each round. What is compared is the CPU time that
# each server spends on one request; the ratio is taken inside the round, median and quartiles printed.
set -eu
build=${1:?usage: bench/http.sh BUILD [ROUNDS]}
rounds=${2:-30}
command -v wrk >/dev/null || {
    echo 'http: skipped, wrk is not installed'
    exit 0
}
dir=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || :; rm -rf "$dir"' EXIT
export ETHOS_HOME="$dir/home"
ethos=$build/bin/ethos

i=0
while [ $i -lt 60 ]; do
    echo "- the queue moved, its new address is in the notes of deployment $i"
    i=$((i + 1))
done | "$ethos" -q memory write
key=$("$ethos" api-key create bench --scope memory:read --json | grep -o 'sk-ethos-[0-9a-f]\{64\}')
mkfifo "$dir/hold"
"$ethos" serve --port 0 >"$dir/url" 2>/dev/null &
server=$!
pids=$server
while [ ! -s "$dir/url" ]; do
    kill -0 $server
    sleep 0.05
done
port=$(sed -n 's/.*localhost:\([0-9]*\).*/\1/p' "$dir/url" | head -n 1)
url=http://127.0.0.1:$port/api/memory/memory
curl -sf -H "Authorization: Bearer $key" "$url" >"$dir/reply"
"$build/bench/bare" 2 "$dir/reply" <"$dir/hold" >"$dir/port" &
bare=$!
pids="$pids $bare"
exec 9>"$dir/hold"
while [ ! -s "$dir/port" ]; do
    kill -0 $bare
    sleep 0.05
done
bare_port=$(cat "$dir/port")

# Ticks of a process, user and system.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# CPU microseconds of process $1 for one request to $2.
cost() {
    before=$(ticks "$1")
    wrk -t 1 -c 16 -d 1s -H "Authorization: Bearer $key" "$2" >"$dir/wrk"
    after=$(ticks "$1")
    awk -v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" '
        /requests in/ { count = $1 }
        /Non-2xx/ { bad = 1 }
        END { if (bad || !count) exit 1; printf "%.3f\n", ticks / hertz * 1e6 / count }' "$dir/wrk"
}

# What was written just now is read more carefully than what has been there for a while.
sleep 2
cost $bare "http://127.0.0.1:$bare_port/" >/dev/null
cost $server "$url" >/dev/null

echo "bytes of the reply: $(wc -c <"$dir/reply"); load $(cut -d ' ' -f 1 /proc/loadavg)"
i=0
while [ $i -lt "$rounds" ]; do
    if [ $((i % 2)) -eq 0 ]; then
        floor=$(cost $bare "http://127.0.0.1:$bare_port/") && ours=$(cost $server "$url")
    else
        ours=$(cost $server "$url") && floor=$(cost $bare "http://127.0.0.1:$bare_port/")
    fi
    echo "$floor $ours"
    i=$((i + 1))
done | awk '
    { floor[NR] = $1; ours[NR] = $2; ratio[NR] = $2 / $1 }
    function sort(list, n,   i, j, x) {
        for (i = 2; i <= n; i++) {
            x = list[i]
            for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
            list[j + 1] = x
        }
    }
    END {
        sort(floor, NR); sort(ours, NR); sort(ratio, NR)
        h = int((NR + 1) / 2); q = int((NR + 3) / 4)
        printf "memory read over HTTP: %.1f us CPU, bare reply %.1f us; ratio %.2f (%.2f-%.2f), target 1.5\n",
            ours[h], floor[h], ratio[h], ratio[q], ratio[NR + 1 - q]
    }'
