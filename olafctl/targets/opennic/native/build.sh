#!/bin/sh
# Makes OUT/IP.so, which the agent loads, of the driver that VitisNetP4 generated for an IP. INSTALLED is where
# `make INSTALL_ROOT=...` of that driver put it.
set -eu
if [ $# -ne 4 ]; then
    echo "usage: $0 IP GENERATED INSTALLED OUT" >&2
    exit 2
fi
ip=$1 generated=$2 installed=$3 out=$4
here=$(dirname "$0")
archive=$installed/lib/libvitisnetp4drv.a
shared=$installed/lib/libvitisnetp4drv.so
mkdir -p "$out"

link() {
    "${CC:-gcc}" -std=c99 -shared -fPIC -Wl,-z,text -DOLAF_IP="$ip" -I"$here" -I"$installed/include" -I"$generated" \
        -o "$out/$ip.so" "$here/olaf_driver.c" "$generated/${ip}_defs.c" "$@" -lm
}

if [ -e "$archive" ] && link "$archive" 2>"$out/$ip.log"; then
    rm "$out/$ip.log"
    exit
fi
# An archive that is not position-independent cannot become part of a library.
if [ ! -e "$shared" ]; then
    if [ -e "$out/$ip.log" ]; then cat "$out/$ip.log" >&2; else echo "$installed/lib holds no libvitisnetp4drv" >&2; fi
    exit 1
fi
cp "$shared" "$out/"
link -L"$out" -lvitisnetp4drv -Wl,-rpath,'$ORIGIN'
rm -f "$out/$ip.log"
echo "$out/$ip.so needs $out/libvitisnetp4drv.so beside it: $archive could not be linked in"
