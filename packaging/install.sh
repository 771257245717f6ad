#!/usr/bin/env bash
# Installs a binary with what belongs to it: install.sh BINARY DESTDIR PREFIX UNITDIR. The manual and the completions are written by the
# program itself, from the table of commands that it obeys.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$1 destdir=$2 prefix=$3 unitdir=$4
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

"$binary" man "$made/man"
for shell in bash zsh fish; do "$binary" completions "$shell" >"$made/$shell"; done
sed "s|@PREFIX@|$prefix|g" packaging/aplomb.service >"$made/aplomb.service"

# What only a debugger needs is four fifths of the file: it goes where debuggers look for it, beside the program.
cp "$binary" "$made/aplomb"
if command -v objcopy >/dev/null; then
  objcopy --only-keep-debug "$binary" "$made/aplomb.debug"
  (cd "$made" && objcopy --strip-debug --add-gnu-debuglink=aplomb.debug aplomb)
  install -D -m 644 "$made/aplomb.debug" "$destdir$prefix/bin/.debug/aplomb.debug"
else
  echo "no objcopy (binutils): the program is installed with its debugging symbols in it" >&2
fi

install -D -m 755 "$made/aplomb" "$destdir$prefix/bin/aplomb"
for page in "$made"/man/*.1; do install -D -m 644 "$page" "$destdir$prefix/share/man/man1/$(basename "$page")"; done
install -D -m 644 "$made/bash" "$destdir$prefix/share/bash-completion/completions/aplomb"
install -D -m 644 "$made/zsh" "$destdir$prefix/share/zsh/site-functions/_aplomb"
install -D -m 644 "$made/fish" "$destdir$prefix/share/fish/vendor_completions.d/aplomb.fish"
install -D -m 644 "$made/aplomb.service" "$destdir$unitdir/aplomb.service"
install -D -m 644 packaging/aplomb.sysusers "$destdir$prefix/lib/sysusers.d/aplomb.conf"
