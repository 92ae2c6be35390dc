#!/bin/sh
# A newcomer's walk through README from a clean clone, each step with its seconds:
#     sh tools/walk.sh [REPOSITORY]      # a directory or an address; without it this one
# HOME is a fresh directory, so nothing of yours is read or changed; no key and no network are needed beyond what
# `make` fetches. Everything is removed at the end, but for a step that failed: then its output is shown.
set -eu
from=${1:-$(cd "$(dirname "$0")/.." && pwd)}
place=$(mktemp -d)
log=$place/log
begin_all=0

now() { date +%s%3N | sed 's/3N$/000/'; } # milliseconds; whole seconds where date knows no better
ended() {
    if [ -x "$place/spanlore/.venv/bin/spanlore" ]; then
        "$place/spanlore/.venv/bin/spanlore" down --force >/dev/null 2>&1 || true
    fi
    rm -rf "$place"
}
trap ended EXIT
trap 'exit 130' INT TERM

tell() { awk -v ms="$1" -v what="$2" 'BEGIN { printf "%7.1f s  %s\n", ms / 1000, what }'; }
step() { # what is typed: it is run as it stands, in a shell
    begin=$(now)
    if ! sh -c "$1" >"$log" 2>&1; then
        tell "$(($(now) - begin))" "$1   FAILED:"
        tail -20 "$log"
        exit 1
    fi
    tell "$(($(now) - begin))" "$1"
}

mkdir "$place/home"
export HOME="$place/home" PATH="$place/spanlore/.venv/bin:$PATH" COLUMNS=80 NO_COLOR=1
unset XDG_STATE_HOME XDG_CONFIG_HOME XDG_CACHE_HOME VIRTUAL_ENV PYTHONPATH PYTHONHOME
for name in $(env | sed -n 's/^\(SPANLORE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
# Ports that nobody else has.
export SPANLORE_PROXY_PORT=0 SPANLORE_COLLECTOR_PORT=0 SPANLORE_COLLECTOR_CLICKHOUSE_PORT=0 SPANLORE_WEB_PORT=0
cd "$place"
begin_all=$(now)
step "git clone -q $from spanlore"
cd spanlore
step "make install"
step "spanlore demo --keep $place/demo"
# What the demonstration left is looked at as one would look at one's own.
export SPANLORE_STATE_DIR="$place/demo/state" SPANLORE_CONFIG_DIR="$place/demo/config"
step "spanlore up --detach"
step "spanlore status"
step "spanlore sessions"
session=$(spanlore sessions --json | sed -n 's/.*"session_id": "\([^"]*\)".*/\1/p' | head -1)
step "spanlore session $(printf %.8s "$session")"
step "spanlore search unittest"
step "spanlore cost --by day"
step "spanlore memories --all"
memory=$(spanlore memories --all | sed -n 's/^\(m-[0-9a-f]*\).*/\1/p' | head -1)
step "spanlore why $memory"
step "spanlore effect $memory"
step "spanlore doctor || [ \$? = 4 ]" # 4: warnings, such as a key that is none
step "spanlore down"
tell "$(($(now) - begin_all))" "in all"
