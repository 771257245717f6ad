#!/usr/bin/env bash
# Installs target/release/aplomb with what belongs to it: install.sh DESTDIR PREFIX UNITDIR. The manual and the completions are written by the
# program itself, from the table of commands that it obeys.
set -euo pipefail
cd "$(dirname "$0")/.."
destdir=$1 prefix=$2 unitdir=$3
binary=target/release/aplomb
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

"$binary" man "$made/man"
for shell in bash zsh fish; do "$binary" completions "$shell" >"$made/$shell"; done
sed "s|@PREFIX@|$prefix|g" packaging/aplomb.service >"$made/aplomb.service"

install -D -m 755 "$binary" "$destdir$prefix/bin/aplomb"
for page in "$made"/man/*.1; do install -D -m 644 "$page" "$destdir$prefix/share/man/man1/$(basename "$page")"; done
install -D -m 644 "$made/bash" "$destdir$prefix/share/bash-completion/completions/aplomb"
install -D -m 644 "$made/zsh" "$destdir$prefix/share/zsh/site-functions/_aplomb"
install -D -m 644 "$made/fish" "$destdir$prefix/share/fish/vendor_completions.d/aplomb.fish"
install -D -m 644 "$made/aplomb.service" "$destdir$unitdir/aplomb.service"
install -D -m 644 packaging/aplomb.sysusers "$destdir$prefix/lib/sysusers.d/aplomb.conf"
