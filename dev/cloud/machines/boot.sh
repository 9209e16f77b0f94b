# The first process of a virtual machine, in its namespaces: BITS, ADDRESS, DISK, NAME, SHARED and WRITTEN are in the
# environment.
# From stdin come a line when the network card is there, and then the user data.
set -e
mount -t tmpfs -o "mode=755,size=$DISK" machine /mnt
mkdir /mnt/changes /mnt/work /mnt/root
# The disk: this machine's system, with changes in memory.
mount -t overlay machine -o lowerdir=/,upperdir=/mnt/changes,workdir=/mnt/work /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount --rbind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
# Files of people and of other runs stay unseen.
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=700 tmpfs root
mount -t tmpfs -o mode=755 tmpfs home
for path in $SHARED; do
  if [ -d "$path" ]; then mkdir -p ".$path"; else mkdir -p ".${path%/*}"; touch ".$path"; fi
  mount --bind "$path" ".$path"
  mount -o remount,bind,ro ".$path"
done
for path in $WRITTEN; do
  mkdir -p ".$path"
  mount --bind "$path" ".$path"
done
hostname "$NAME"
mkdir -p run/sshd var/lib/cloud usr/local/sbin
# Nobody but whom the user data name may log in.
rm -f etc/ssh/ssh_host_*
ssh-keygen -q -t ed25519 -N '' -C "$NAME" -f etc/ssh/ssh_host_ed25519_key
printf '#!/bin/sh\nexec kill -TERM 1\n' >usr/local/sbin/poweroff
chmod 755 usr/local/sbin/poweroff
cat >run/init <<'INIT'
/usr/sbin/sshd -D -e -f /dev/null -o HostKey=/etc/ssh/ssh_host_ed25519_key -o PidFile=none -o UsePAM=no -o UseDNS=no \
  -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o MaxStartups=200 -o LogLevel=ERROR \
  -o 'Subsystem=sftp internal-sftp' </dev/null >&2 &
# As cloud-init does it: beside the SSH server.
if [ -s /var/lib/cloud/user-data ]; then
  chmod 700 /var/lib/cloud/user-data
  /var/lib/cloud/user-data </dev/null >&2 || echo "the user data failed: $?" >&2
fi
# Without PAM, sshd lets nobody in whose password is locked.
sed -i 's/^\([^:]*\):!!*\*\{0,1\}:/\1:*:/' /etc/shadow
date >/run/boot.complete
echo booted
exec >/dev/null
wait
INIT
echo up
read -r go
cat >var/lib/cloud/user-data
ip link set lo up
ip address add "$ADDRESS/$BITS" dev eth0
ip link set eth0 up
exec chroot . /usr/bin/env -i PATH="$PATH" HOME=/root "$(command -v catatonit)" -- /bin/sh /run/init
