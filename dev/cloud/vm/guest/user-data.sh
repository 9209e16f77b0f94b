#!/bin/sh
# As cloud-init does it: beside the SSH server, and at the first boot alone.
if [ ! -e /var/lib/cloud/done ]; then
  mkdir -p /var/lib/cloud
  install -m 700 /run/seed/user-data /var/lib/cloud/user-data
  /var/lib/cloud/user-data </dev/null || echo "the user data failed: $?"
  touch /var/lib/cloud/done
fi
rm -rf /run/seed
echo booted >/dev/ttyS1
