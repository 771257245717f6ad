#!/usr/bin/env bash
# Makes the certificates that TLS between our client and our server is tested with (src/security/outgoing). Run by
# hand, with openssl 3. Each file has a key and its certificate; dates are fixed far away, so that what is here stays
# good, but for the one that has expired.
set -euo pipefail
cd "$(dirname "$0")"
rm -f -- *.pem
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/$1.key" 2>/dev/null; }
authority() { # authority NAME
    key "$1"
    openssl req -x509 -key "$work/$1.key" -subj "/CN=$1" -days 36500 -out "$1.pem"
}
# `ca` alone can date a certificate into the past.
signed() { # signed NAME EXTENSIONS [START END]
    key "$1"
    openssl req -new -key "$work/$1.key" -subj "/CN=$1" -out "$work/$1.csr"
    : >"$work/index"
    printf '[ca]\ndefault_ca=it\n[it]\ndatabase=%s/index\nnew_certs_dir=%s\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n' \
        "$work" "$work" >"$work/ca.cnf"
    openssl ca -batch -notext -config "$work/ca.cnf" -cert authority.pem -keyfile "$work/authority.key" -in "$work/$1.csr" \
        -startdate "${3:-20200101000000Z}" -enddate "${4:-21200101000000Z}" \
        -extfile <(printf '%b' "basicConstraints=CA:FALSE\n$2\n") -out "$work/$1.pem" 2>/dev/null
    cat "$work/$1.key" "$work/$1.pem" >"$1.pem"
}
authority authority
authority stranger
signed localhost 'subjectAltName=DNS:localhost,IP:127.0.0.1'
signed elsewhere 'subjectAltName=DNS:elsewhere.example'
signed expired 'subjectAltName=DNS:localhost' 20000101000000Z 20010101000000Z
signed client ''
key alone
openssl req -x509 -key "$work/alone.key" -subj /CN=alone -addext subjectAltName=DNS:localhost \
    -addext basicConstraints=critical,CA:FALSE -days 36500 -out "$work/alone.pem"
cat "$work/alone.key" "$work/alone.pem" >alone.pem
