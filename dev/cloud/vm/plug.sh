#!/bin/sh
# qemu has made the network card $1 of this machine, which goes with it: it joins the bridge of its cloud.
set -e
# Addresses that the kernel gives by itself come late, and browsers would take them for a change of the network.
[ ! -e /proc/sys/net/ipv6 ] || ip link set "$1" addrgenmode none
ip link set "$1" master "$BRIDGE" up
