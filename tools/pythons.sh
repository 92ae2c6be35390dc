# shellcheck shell=sh
# Where Pythons are on this machine; read by bootstrap.sh and agents.sh.

# True if $1 is a Python that runs and is at least $2 (3.8, 3.12). Not from here: pyenv's shims obey .python-version.
is_python() {
    [ -n "$1" ] && (cd / && "$1" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$2'.split('.'))))") 2>/dev/null
}

# Where pyenv may keep Pythons: its own variable, HOME, the account's home (HOME may be a fresh one), a shim on the PATH.
account_home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || account_home=
shim=$(command -v python3 2>/dev/null) || shim=
pyenv_roots="${PYENV_ROOT:-} ${HOME:-}/.pyenv ${account_home:-}/.pyenv ${shim%/shims/python3}"

# Prints the pyenv Pythons whose version matches $1 (3.13*, 3.*).
pyenv_pythons() {
    for root in $pyenv_roots; do
        for candidate in "$root"/versions/$1/bin/python; do
            [ ! -x "$candidate" ] || printf '%s\n' "$candidate"
        done
    done
}
