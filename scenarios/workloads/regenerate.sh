#!/bin/sh
# Compiles every kernel in cuda/, clustering/cuda/ and graphs/cuda/ to the PTX beside it. Needed only after a change to
# a kernel; the committed PTX was made with clang 19.1.7 (Debian package clang-19). Another compiler:
# CLANG=clang-20 ./regenerate.sh
set -eu
cd "$(dirname "$0")"
for source in cuda/*.cu clustering/cuda/*.cu graphs/cuda/*.cu; do
    # Contraction is off so that results equal a host reference bit for bit. The PTX version is
    # raised from clang's default, which lacks the warp shuffles.
    "${CLANG:-clang-19}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 \
        -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx63 \
        -O2 -ffp-contract=off -Wall -Wextra -Werror -Icuda \
        -S -o "${source%.cu}.ptx" "$source"
done
