#!/bin/sh
# bench/chat.sh BUILD [ROUNDS]: ethos chat in a home with 1,000 notes: Enter to the request, processor per token.
set -eu
build=$(cd "$1" && pwd)
text=$(realpath docs/internals/memory.md)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" ETHOS_HOME="$dir/home"
"$build/bench/turn" "$dir" 1 >/dev/null
cd "$dir/project"
"$build/bench/chat" "$build/bin/ethos" "$text" "${2:-50}"
