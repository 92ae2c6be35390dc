#!/bin/sh
# Renews the pinned, hashed requirements for every platform and Python from 3.12 on. They name no index, so a mirror does
# as well. Pinned versions are kept where they still fit; `UPGRADE=1` takes the newest.
set -eu
cd "$(dirname "$0")/.."

uv=.bootstrap/bin/uv
[ -x "$uv" ] || uv=uv
compile() {
    "$uv" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
        ${UPGRADE:+--upgrade} "$@"
}

compile --python-version 3.12 pyproject.toml --output-file requirements.txt
compile --python-version 3.12 pyproject.toml --group dev --constraint requirements.txt --output-file requirements-dev.txt
compile --python-version 3.8 tools/requirements-uv.in --output-file tools/requirements-uv.txt
for agent in tools/agents/*/requirements.in tools/fuzz/requirements.in tools/small-model/requirements.in; do
    compile --python-version 3.12 "$agent" --output-file "${agent%.in}.txt"
done
if command -v npm >/dev/null 2>&1; then
    # Integrity hashes without addresses.
    for package in tools/agents/package.json tools/agents/*/package.json tools/small-model/package.json; do
        npm install --prefix "${package%/*}" --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --no-update-notifier --loglevel=error
    done
fi
