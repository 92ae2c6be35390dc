#!/bin/sh
# Installs the real agents that the end-to-end tests run, pinned with hashes in tools/agents, into .cache/agents.
#
#   tools/agents.sh          those that need nothing but npm: claude-code codex gemini-cli pi (1.1 GB)
#   tools/agents.sh all      these, and opencode, qwen-code (with its Node 22), openclaw (with its Node 24), cline,
#                            continue, copilot-cli, kimi-code and grok-cli (the last two with their Node 22),
#                            mini-swe-agent and aider (with Python 3.12): 3.6 GB more
#   tools/agents.sh NAME...  the ones that are named
#
# What cannot be installed is left out with a word about it, and the tests that need it are skipped; whoever asked for
# it (`all`, or its name) is told by the exit code, too.
set -eu
cd "$(dirname "$0")/.."

target=.cache/agents
plain="claude-code codex gemini-cli pi"
must=yes
# shellcheck disable=SC2086 # the words of a list
case "${1:-}" in
    "") must=no; set -- $plain ;;
    all) set -- $plain opencode qwen-code openclaw cline continue copilot-cli kimi-code grok-cli \
        mini-swe-agent aider ;;
esac

. tools/pythons.sh

say() { printf '%s\n' "agents: $*" >&2; }

# Without install scripts, which newer versions of npm run only when asked: `finish` does what they are needed for.
install_npm() { # folder with the lock file, folder to install into
    command -v npm >/dev/null 2>&1 || { say "npm is not installed"; return 1; }
    mkdir -p "$2"
    cp "$1/package.json" "$1/package-lock.json" "$2"
    set -- "$2" --ignore-scripts --no-audit --no-fund --no-update-notifier
    # npm writes no lock entries for other platforms' builds of some packages, and `ci` then refuses: `install` takes the
    # locked versions and checks their hashes, too.
    npm ci --prefix "$@" --loglevel=silent >&2 || (cd "$1" && shift && npm install "$@" --no-save --loglevel=error) >&2
}

install_python() { # folder with the requirements, folder to install into
    uv=.bootstrap/bin/uv
    [ -x "$uv" ] || uv=$(command -v uv) || { say "uv is not installed; \`make install\` does it"; return 1; }
    python=3.12 # uv looks on the PATH, where pyenv has only shims, and fetches one where there is none
    for candidate in $(pyenv_pythons '3.12*'); do
        ! is_python "$candidate" 3.12 || python=$candidate
    done
    "$uv" venv --quiet --clear --no-project --python "$python" "$2" || { say "there is no Python 3.12"; return 1; }
    "$uv" pip sync --quiet --python "$2/bin/python" --require-hashes "$1/requirements.txt"
}

# claude-code's and opencode's install scripts put the platform's binary, a package of its own, in place.
finish() {
    case "$1" in
        claude-code) (cd "$2/node_modules/@anthropic-ai/claude-code" && node install.cjs) >&2 ;;
        opencode)
            (cd "$2/node_modules/opencode-ai" && node postinstall.mjs) >&2 &&
                rm -rf "$2"/node_modules/opencode-linux-* "$2"/node_modules/opencode-darwin-* # a copy is in place
            ;;
    esac
}

install() { # name
    case "$1" in
        claude-code) from=tools/agents into=$target ;;
        *) from=tools/agents/$1 into=$target/$1 ;;
    esac
    lock=$from/package-lock.json
    [ -f "$lock" ] || lock=$from/requirements.txt
    [ -f "$lock" ] || { say "there is no agent $1"; return 1; }
    mark=$into/installed.json
    if cmp -s "$lock" "$mark"; then
        return 0
    fi
    say "installing the pinned $1 into $into"
    case "$lock" in
        *.json) install_npm "$from" "$into" ;;
        *) install_python "$from" "$into" ;;
    esac && finish "$1" "$into" && cp "$lock" "$mark"
}

missing=0
for name in "$@"; do
    # `set -e` does not hold in a condition, so each step of `install` is chained.
    if ! install "$name"; then
        say "SKIPPED $name: the tests with it will be skipped"
        missing=1
    fi
done
[ "$must" = no ] || exit "$missing"
