#!/bin/sh
# Has Grafana's own library read the dashboards' JSON, or its own components draw them:
#     sh tools/grafana.sh                  # units, reducers, how each panel writes a number (230 MB)
#     sh tools/grafana.sh pictures DIR     # one picture a dashboard, on a store of its own (0.4 GB)
# Wants node and npm; keeps the libraries in .cache/grafana.
set -eu
cd "$(dirname "$0")/.."
version=13.2.3
place=.cache/grafana
wanted="@grafana/data@$version"
mark=$version
if [ "${1:-}" = pictures ]; then
    wanted="$wanted @grafana/ui@$version react@19.3.1 react-dom@19.3.1 esbuild@0.28.2"
    mark="$version with components"
fi
case "$(cat "$place/version" 2>/dev/null)" in
"$mark" | "$mark "*) ;;
*)
    # shellcheck disable=SC2086 # several words
    npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps --no-save --prefix "$place" $wanted
    echo "$mark" >"$place/version"
    ;;
esac
if [ "${1:-}" = pictures ]; then
    exec .venv/bin/python tools/grafana/pictures.py "${2:?where the pictures go}"
fi
NODE_PATH="$place/node_modules" exec node tools/grafana/check.cjs
