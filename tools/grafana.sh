#!/bin/sh
# Has Grafana's own library read the dashboards' JSON. Wants node and npm; keeps the library in .cache/grafana.
set -eu
cd "$(dirname "$0")/.."
version=13.2.3
place=.cache/grafana
if [ "$(cat "$place/version" 2>/dev/null)" != "$version" ]; then
    npm install --silent --no-audit --no-fund --ignore-scripts --no-save --prefix "$place" "@grafana/data@$version"
    echo "$version" >"$place/version"
fi
NODE_PATH="$place/node_modules" exec node tools/grafana/check.cjs
