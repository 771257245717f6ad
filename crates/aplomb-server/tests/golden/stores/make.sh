#!/usr/bin/env bash
# Makes the stores that the readers of crates/aplomb-server/src/security are tested with, and that fuzzing starts
# from. Run by hand, with openssl 3 and two JDKs: make.sh JDK_17 JDK_25. Dates are fixed far away, so that what is
# here stays good; keys are new each time, and so are the files.
set -euo pipefail
cd "$(dirname "$0")"
old=$1/bin/keytool new=$2/bin/keytool
rm -f -- *.der *.p12 *.jks *.jceks *.pem
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/$1.key" 2>/dev/null; }
signed() { # signed NAME BY SUBJECT
    key "$1"
    openssl req -new -key "$work/$1.key" -subj "$3" -out "$work/$1.csr"
    openssl x509 -req -in "$work/$1.csr" -CA "$work/$2.pem" -CAkey "$work/$2.key" -days 36500 \
        -extfile <(echo "basicConstraints=CA:${4:-FALSE}") -out "$work/$1.pem" 2>/dev/null
}
key root
openssl req -x509 -key "$work/root.key" -subj /CN=root -days 36500 -out "$work/root.pem"
signed middle root /CN=middle TRUE
signed alice middle "/O=A, Inc/CN=alice"
signed bob root /CN=bob
for name in root middle alice bob; do openssl x509 -in "$work/$name.pem" -outform DER -out "$name.der"; done
for name in alice bob; do openssl pkcs8 -topk8 -nocrypt -in "$work/$name.key" -outform DER -out "$name-key.der"; done

# By openssl: a key with its chain.
cat "$work/middle.pem" "$work/root.pem" >"$work/chain.pem"
export_p12() { # export_p12 FILE OPTION...
    local file=$1
    shift
    openssl pkcs12 -export -inkey "$work/alice.key" -in "$work/alice.pem" -certfile "$work/chain.pem" -name alice \
        -passout pass:secret "$@" -out "$file"
}
export_p12 openssl-aes.p12
export_p12 openssl-3des-rc2.p12 -legacy
export_p12 openssl-rc2-128.p12 -legacy -certpbe PBE-SHA1-RC2-128 -keypbe PBE-SHA1-RC2-128
export_p12 openssl-no-mac.p12 -nomac
export_p12 openssl-open.p12 -certpbe NONE -keypbe NONE
openssl pkcs12 -export -nokeys -in "$work/root.pem" -passout pass:secret -out openssl-certificates.p12

# Keys in PEM, under a password.
sealed() { # sealed FILE OPTION...
    local file=$1
    shift
    openssl pkcs8 -topk8 -in "$work/alice.key" -passout pass:secret "$@" -out "$file"
}
sealed pbes2-aes256.pem
sealed pbes2-aes128-sha512.pem -v2 aes-128-cbc -v2prf hmacWithSHA512
sealed pbes2-aes192-sha1.pem -v2 aes-192-cbc -v2prf hmacWithSHA1
sealed pbes2-3des.pem -v2 des3
sealed pbe-3des.pem -v1 PBE-SHA1-3DES
sealed pbe-rc2-40.pem -v1 PBE-SHA1-RC2-40 -provider legacy -provider default
sealed pbe-rc2-128.pem -v1 PBE-SHA1-RC2-128 -provider legacy -provider default
sealed pbe-rc4.pem -v1 PBE-SHA1-RC4-128 -provider legacy -provider default
sealed scrypt.pem -scrypt

# By keytool: two keys and a certificate that is trusted.
openssl pkcs12 -export -inkey "$work/bob.key" -in "$work/bob.pem" -name bob -passout pass:secret -out "$work/bob.p12"
import() { # import KEYTOOL FILE TYPE [OPTION...]
    local tool=$1 file=$2 type=$3
    shift 3
    for from in openssl-aes.p12 "$work/bob.p12"; do
        "$tool" "$@" -importkeystore -noprompt -srckeystore "$from" -srcstoretype PKCS12 -srcstorepass secret \
            -destkeystore "$file" -deststoretype "$type" -deststorepass secret 2>/dev/null
    done
    "$tool" "$@" -importcert -noprompt -alias root -file "$work/root.pem" -keystore "$file" -storetype "$type" \
        -storepass secret 2>/dev/null
}
import "$old" java-17.p12 PKCS12
import "$new" java-25.p12 PKCS12
import "$old" java-17-legacy.p12 PKCS12 -J-Dkeystore.pkcs12.legacy
import "$old" java-17.jks JKS
import "$new" java-25.jks JKS
# One whose key has a password of its own.
cp java-17.jks java-17-key-password.jks
"$old" -keypasswd -alias alice -keystore java-17-key-password.jks -storetype JKS -storepass secret -keypass secret \
    -new another 2>/dev/null
"$old" -delete -alias bob -keystore java-17-key-password.jks -storetype JKS -storepass secret 2>/dev/null
# And one of a kind that is not read.
"$old" -importcert -noprompt -alias root -file "$work/root.pem" -keystore java-17.jceks -storetype JCEKS \
    -storepass secret 2>/dev/null
chmod 644 -- *.der *.p12 *.jks *.jceks *.pem
