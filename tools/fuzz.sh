#!/bin/sh
# Fuzzes what reads bytes from outside: each dialect's fold and request, and WebSocket frames. Not part of CI.
#
#   tools/fuzz.sh                    every target for a minute (11 minutes)
#   tools/fuzz.sh SECONDS [TARGET…]  so many seconds each
#
# What it finds stays in .cache/fuzz/TARGET.crash-*; the exit code is 1 then. Needs Linux or macOS with atheris' wheels.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-60}
[ $# -eq 0 ] || shift
uv=.bootstrap/bin/uv
[ -x "$uv" ] || uv=uv
folder=.cache/fuzz
mkdir -p "$folder"
"$uv" pip install --quiet --python .venv/bin/python --target "$folder/packages" --require-hashes -r tools/fuzz/requirements.txt
export PYTHONPATH="tests:$folder/packages"
# shellcheck disable=SC2046 # the words of a list
[ $# -gt 0 ] || set -- $(.venv/bin/python -c 'from support.fuzz_targets import targets; print(*targets())')

failed=0
for target in "$@"; do
    printf '%s\n' "fuzz: $target for $seconds s" >&2
    .venv/bin/python -m support.fuzz "$target" "$folder/$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="$folder/$target." -print_final_stats=1 >"$folder/$target.log" 2>&1 || failed=1
    grep -E 'stat::number_of_executed|^(ERROR|Uncaught|==.*ERROR)|Error' "$folder/$target.log" | tail -3 >&2 || true
done
exit "$failed"
