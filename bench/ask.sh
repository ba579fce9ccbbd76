#!/bin/sh
# bench/ask.sh BUILD [ROUNDS]: ethos ask beside a trivial program with libcurl and a bare request, by turns; and the
# time from the start of a turn to its request.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-50}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" ETHOS_HOME="$dir/.ethos"
mkdir "$dir/turn" "$dir/project"
"$build/bench/turn" "$dir/turn" 200
PATH=$build/bin:$PATH
printf '{"text":"ok"}\n' >"$dir/script"
cat >"$dir/run" <<'RUN'
cd "$HOME/project"
ethos config set provider openai-compat -q
ethos config set model stub -q
ethos config set baseUrl "$MODEL_URL" -q
ethos ask -q hi >/dev/null
once() { # prints microseconds
    begin=$(date +%s%N)
    "$@" >/dev/null 2>&1
    echo $((($(date +%s%N) - begin) / 1000))
}
i=0
while [ $i -lt "$rounds" ]; do
    once ethos ask -q hi >>"$HOME/ask"
    once "$build/bench/trivial_curl" >>"$HOME/trivial"
    once curl -s -d '{"messages":[]}' "$MODEL_URL/chat/completions" >>"$HOME/request"
    once curl --version >>"$HOME/curl"
    i=$((i + 1))
done
RUN
export build rounds
"$build/tests/cli/model_server" "$dir/script" sh "$dir/run"
median() { sort -n "$dir/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
server=$(($(median request) - $(median curl)))
[ $server -gt 0 ] || server=0
awk -v ask="$(median ask)" -v trivial="$(median trivial)" -v server=$server 'BEGIN {
    printf "ethos ask %d us, trivial %d us, the server %d us: %.2f times the trivial program\n", ask, trivial,
        server, (ask - server) / trivial }'
