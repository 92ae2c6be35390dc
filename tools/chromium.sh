#!/bin/sh
# Installs Debian's Chromium for the browser tests, where that is possible without asking anybody: as root, with apt.
# Anywhere else nothing happens, and the tests that need a browser are skipped with a word about it.
set -eu

say() { printf '%s\n' "chromium: $*" >&2; }

command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "not installed; the browser tests are skipped (\`apt-get install chromium\` brings it)"
    exit 0
fi
say "installing Debian's chromium"
log=$(mktemp)
if DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >>"$log" 2>&1; then
    rm -f "$log"
else
    tail -3 "$log" >&2
    rm -f "$log"
    say "can't be installed; the browser tests are skipped"
fi
