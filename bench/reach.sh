#!/bin/sh
# bench/reach.sh BUILD [ROUNDS]: how long somebody waits for a backend that is out of reach, in seconds: the
# longest of ROUNDS.
#
# refused: nobody listens. silent: connections are taken and nothing is said. dropped: what is sent is lost.
set -eu
build=${1:?usage: bench/reach.sh BUILD [ROUNDS]}
rounds=${2:-3}
ethos=$(realpath "$build/bin/ethos")
dir=$(mktemp -d)
mkfifo "$dir/hold"
pids=
trap 'kill $pids 2>/dev/null || :; rm -rf "$dir"' EXIT
export HOME="$dir" ETHOS_HOME="$dir/home"
unset RES_OPTIONS

mute() { # kind
    "$build/bench/mute" "$1" <"$dir/hold" >"$dir/$1" &
    pids="$pids $!"
}
mute silent
mute full
exec 3>"$dir/hold"
while [ ! -s "$dir/silent" ] || [ ! -s "$dir/full" ]; do sleep 0.05; done

configure() { # backend port mode
    rm -rf "$ETHOS_HOME"
    mkdir -m 700 "$ETHOS_HOME"
    case $1 in
    postgres) url=postgresql://nobody@127.0.0.1:$2/none ;;
    redis) url=redis://127.0.0.1:$2/0 ;;
    remote) url=http://127.0.0.1:$2 ;;
    esac
    {
        echo "memory.provider: $1"
        echo "memory.options.url: $url"
        test "$1" != remote || echo 'memory.options.keyFile: key'
        test "$3" = default || printf 'memory.options.%s\n' 'offline: cached' 'onOffline: queue'
    } >"$ETHOS_HOME/config.yaml"
    (umask 077 && echo sk-ethos-none >"$ETHOS_HOME/key")
}

took() { # command...
    most=0
    for _ in $(seq "$rounds"); do
        began=$(date +%s%N)
        "$@" </dev/null >/dev/null 2>&1 || :
        ended=$(date +%s%N)
        ms=$(((ended - began) / 1000000))
        test $ms -le $most || most=$ms
    done
    printf ' %d.%02d |' $((most / 1000)) $((most % 1000 / 10))
}

start() {
    echo '{"session_id":"s","cwd":"/","hook_event_name":"SessionStart","source":"startup"}' |
        "$ethos" hook claude-code SessionStart
}
stop() {
    echo '{"session_id":"s","cwd":"/","hook_event_name":"Stop","transcript_path":"/none"}' |
        "$ethos" hook claude-code Stop
}

echo '| backend | | options | prefetch | memory add | doctor | hook SessionStart | hook Stop |'
echo '|---|---|---|---|---|---|---|---|'
for backend in postgres redis remote; do
    for kind in refused silent dropped; do
        case $kind in
        refused) port=1 ;;
        silent) port=$(cat "$dir/silent") ;;
        dropped) port=$(cat "$dir/full") ;;
        esac
        for mode in default 'cached, queue'; do
            configure $backend "$port" "$mode"
            printf '| %s | %s | %s |' $backend $kind "$mode"
            took "$ethos" prefetch
            took "$ethos" memory add one
            took "$ethos" doctor
            took start
            took stop
            echo
        done
    done
done
exec 3>&-
