#!/bin/sh
# Installs the real agents that the end-to-end tests run, pinned with hashes in tools/agents, into .cache/agents.
# Without npm they are left out, and the tests that need them are skipped.
set -eu
cd "$(dirname "$0")/.."

target=.cache/agents
if ! command -v npm >/dev/null 2>&1; then
    printf '%s\n' "agents: SKIPPED, npm is not installed: the tests with the real Claude Code will be skipped" >&2
    exit 0
fi
if cmp -s tools/agents/package-lock.json "$target/installed.json" && "$target/node_modules/.bin/claude" --version >/dev/null 2>&1; then
    exit 0
fi
printf '%s\n' "agents: installing the pinned Claude Code into $target" >&2
mkdir -p "$target"
cp tools/agents/package.json tools/agents/package-lock.json "$target"
# Its install script only puts the platform's binary, a package of its own, in place. Newer versions of npm run no
# install scripts unasked, so it is run here.
npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2
(cd "$target/node_modules/@anthropic-ai/claude-code" && node install.cjs) >&2
"$target/node_modules/.bin/claude" --version >&2
cp tools/agents/package-lock.json "$target/installed.json"
