#!/bin/sh
# Makes .venv with everything spanlore and its tests need. Wants nothing but git and any Python 3 with pip or venv.
# Doing it again is quick: what is installed already stays.
set -eu
cd "$(dirname "$0")/.."

wanted=$(cat .python-version)
# Trust what this machine trusts: behind a company's proxy the bundled roots are not enough. (Second name: older uv.)
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" UV_NATIVE_TLS="${UV_NATIVE_TLS:-true}"
say() { printf '%s\n' "bootstrap: $*" >&2; }
die() { say "$*"; exit 1; }

. tools/pythons.sh

find_any_python() {
    for candidate in python3 python3.13 python3.12 python3.11 python3.10 python3.9 python $(pyenv_pythons '3.*'); do
        if is_python "$candidate" 3.8; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "no Python 3.8 or newer found. Install one (any 3.x will do), or install uv yourself."
}

find_uv() {
    if [ -n "${UV:-}" ] && [ -x "$UV" ]; then
        printf '%s\n' "$UV"
    elif [ -x .bootstrap/bin/uv ]; then
        printf '%s\n' "$PWD/.bootstrap/bin/uv"
    elif uv=$(command -v uv) && (cd / && "$uv" --version) >/dev/null 2>&1; then
        printf '%s\n' "$uv"
    fi
}

install_uv() {
    python=$(find_any_python)
    say "uv is missing, installing it into .bootstrap with $python"
    # Debian's Python comes without ensurepip: then a bare venv, filled by the Python's own pip.
    if (cd / && "$python" -m venv --clear "$OLDPWD/.bootstrap") >/dev/null 2>&1; then
        pip="$PWD/.bootstrap/bin/python -m pip"
        set -- --require-hashes -r tools/requirements-uv.txt
    elif (cd / && "$python" -m pip --version) >/dev/null 2>&1; then
        rm -rf .bootstrap
        pip="$python -m pip"
        set -- --require-hashes -r tools/requirements-uv.txt --target .bootstrap
    else
        die "$python has neither venv nor pip. Install one of them (Debian: python3-venv), or install uv yourself."
    fi
    # Once more without the machine's own pip settings, should they be what is in the way.
    (unset PYTHONPATH; $pip install --quiet --disable-pip-version-check "$@") ||
        (unset PYTHONPATH; PIP_CONFIG_FILE=/dev/null $pip --isolated install --quiet --disable-pip-version-check "$@") ||
        die "uv could not be installed; see pip's message above."
}

# The Python of .venv: pyenv's or the system's $wanted, else any from 3.12, else one that uv fetches.
find_python() {
    for candidate in $(pyenv_pythons "$wanted*") "python$wanted" $(pyenv_pythons '3.12*') python3.12 python3; do
        if is_python "$candidate" 3.12; then
            (cd / && "$candidate" -c 'import sys; print(sys.executable)')
            return
        fi
    done
}

uv=$(find_uv)
if [ -z "$uv" ]; then
    install_uv
    uv=$(find_uv)
fi
[ -n "$uv" ] || die "uv was installed but is not to be found in .bootstrap/bin."

if ! is_python "$PWD/.venv/bin/python" 3.12; then
    python=$(find_python)
    if [ -z "$python" ]; then
        say "no Python from 3.12 on here, uv fetches $wanted"
        "$uv" python install --no-progress "$wanted" ||
            die "Python $wanted could not be fetched. Install Python 3.12 or newer (pyenv, the system's packages) and try again."
        python=$wanted
    fi
    "$uv" venv --quiet --clear --no-project --python "$python" .venv
fi

say "installing into .venv ($(.venv/bin/python -V 2>&1))"
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes requirements-dev.txt
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
