#!/bin/sh
# deb.sh TREE WORK OUT: the Debian package of an installed tree, by CPack. Wants DEB_VERSION,
# DEB_MAINTAINER, DEB_ARCHITECTURE, DEB_TRIPLET, DEB_GLIBC and SOURCE_DATE_EPOCH in the environment.
set -eu
tree=${1:?an installed tree}
work=${2:?a folder for what comes between}
out=${3:?a folder for the package}
here=$(cd "$(dirname "$0")" && pwd)

# What Debian wants elsewhere or otherwise than an installation has it.
DEB_ROOT=$work/root
export DEB_ROOT
rm -rf "$work"
mkdir -p "$DEB_ROOT" "$work/cpack"
cp -R "$tree" "$DEB_ROOT/usr"
share=$DEB_ROOT/usr/share
pages=$share/doc/tidemark
mkdir -p "$share/zsh/vendor-completions" "$share/lintian/overrides"
mv "$share/zsh/site-functions/_tidemark" "$share/zsh/vendor-completions/_tidemark"
rmdir "$share/zsh/site-functions"
# A cross compiler's pkg-config looks into the folder of its target only: one folder deeper.
lib=$DEB_ROOT/usr/lib
mkdir "$lib/$DEB_TRIPLET"
mv "$lib/pkgconfig" "$lib/$DEB_TRIPLET/pkgconfig"
sed -i 's,^prefix=.*,&/..,' "$lib/$DEB_TRIPLET"/pkgconfig/*.pc
gzip -9n "$share"/man/man1/*.1
cp "$here/copyright" "$pages/copyright"
cp "$here/lintian-overrides" "$share/lintian/overrides/tidemark"
{
    printf 'tidemark (%s-1) unstable; urgency=medium\n\n  * See NEWS.\n\n' "$DEB_VERSION"
    printf ' -- %s  %s\n' "$DEB_MAINTAINER" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n > "$pages/changelog.Debian.gz"
chmod -R u=rwX,go=rX "$DEB_ROOT"
find "$DEB_ROOT" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

cpack --config "$here/deb.cmake" -B "$work/cpack" > "$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
mv "$work"/cpack/*.deb "$out"
