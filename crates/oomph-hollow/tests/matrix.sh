#!/usr/bin/env bash
# Tries the scripts of tests/torch/ with several releases of PyTorch, each in an environment of its own.
#
#     tests/matrix.sh [FOLDER] [VERSION...]
#
# FOLDER keeps the environments (several GB each; a new temporary one unless given, then they are used again), VERSIONs
# are releases of torch on PyPI. Needs uv and the network, so it is no part of `make test`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)}
shift || true
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(2.6.0 2.8.0 2.11.0 2.15.0)
cargo build --quiet -p oomph-hollow --manifest-path "$here/../Cargo.toml"
failed=0
for version in "${versions[@]}"; do
    python=$folder/$version/bin/python
    if [ ! -x "$python" ]; then
        uv venv --quiet "$folder/$version"
        uv pip install --quiet --python "$python" "torch==$version" numpy setuptools
    fi
    echo "torch $version, $("$python" -c 'import sys, torch; print("CUDA", torch.version.cuda, "Python", sys.version.split()[0])')"
    if ! OOMPH_TEST_PYTHON=$python cargo test --quiet -p oomph-hollow --manifest-path "$here/../Cargo.toml" --test torch -- \
        --test-threads 2 --skip peaks_of_mlps; then
        failed=1
    fi
done
exit $failed
