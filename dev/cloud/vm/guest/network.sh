#!/bin/sh
# At each boot, before the SSH server. The second disk begins with a block of variables; the user data follow.
set -e
mkdir -p /run/seed
chmod 700 /run/seed
head -c 512 /dev/vdb >/run/seed/variables
tail -c +513 /dev/vdb >/run/seed/user-data
. /run/seed/variables
hostname "$NAME"
ip link set lo up
ip address add "$ADDRESS/$BITS" dev eth0
ip link set eth0 up
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -C "$NAME" -f /etc/ssh/ssh_host_ed25519_key
