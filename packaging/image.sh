#!/usr/bin/env bash
# The image of packaging/Dockerfile from a binary that was built, without a daemon and without the network: image.sh BINARY [NAME [ARCHIVE]].
# It holds the program, stripped, with the libraries that it is linked to, with that of GSSAPI if this machine has it (libgssapi-krb5-2), and
# nothing else: no shell, no package manager. Needs buildah, and root, or `buildah unshare packaging/image.sh ...`. With ARCHIVE it is written to that file as well, for `docker load` or `podman load`.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$1 name=${2:-aplomb} archive=${3:-}
command -v buildah >/dev/null || { echo "packaging/image.sh needs buildah" >&2; exit 1; }
[ -x "$binary" ] || { echo "there is no $binary: run make build or make optimized first" >&2; exit 1; }

work=$(buildah from scratch)
trap 'buildah rm "$work" >/dev/null' EXIT
root=$(buildah mount "$work")

install -D -m 755 "$binary" "$root/usr/local/bin/aplomb"
strip --strip-debug "$root/usr/local/bin/aplomb"
# The loader's path is in the program and the libraries are where it looks first: no ld.so.cache is needed.
# That of GSSAPI is loaded by its name when a listener wants it.
gssapi=$(ldconfig -p | sed -n 's|.*libgssapi_krb5\.so\.2 .*=> ||p' | head -n 1)
{ ldd "$binary"; [ -z "$gssapi" ] || { ldd "$gssapi"; echo "$gssapi"; }; } | grep -o '/[^ ]*' | sort -u |
  while read -r library; do install -D -m 755 "$(realpath "$library")" "$root$library"; done
# Where it notes replays.
install -d -m 1777 "$root/var/tmp"
install -D -m 644 -t "$root/usr/share/doc/aplomb" LICENSE NOTICE
install -d "$root/etc"
echo 'aplomb:x:1000:1000:Aplomb broker:/var/lib/aplomb:/sbin/nologin' >"$root/etc/passwd"
echo 'aplomb:x:1000:' >"$root/etc/group"
install -d -o 1000 -g 1000 -m 750 "$root/var/lib/aplomb"

buildah config --user aplomb --workingdir /var/lib/aplomb --volume /var/lib/aplomb --port 9092 --stop-signal SIGTERM \
  --env KAFKA_LOG_DIRS=/var/lib/aplomb/data \
  --env KAFKA_LISTENERS=PLAINTEXT://:9092 \
  --env KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 \
  --env PATH=/usr/local/bin \
  --entrypoint '["aplomb"]' --cmd serve "$work"
buildah commit --quiet "$work" "$name"
[ -z "$archive" ] || buildah push --quiet "$name" "docker-archive:$archive:$name:latest"
