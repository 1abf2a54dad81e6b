#!/bin/sh
# Installs Debian packages as root, without letting any of them start a server: `apt-install.sh package…`
set -eu

# Two test runs on a fresh machine may both want to install: the second waits.
exec 9>/var/lock/kalends-apt
flock 9

# Debian's packages start their servers when they are installed, unless this file says no. One that is
# there already is the administrator's and stays.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
# 9>&-: what apt leaves running must not keep the lock.
apt-get -o DPkg::Lock::Timeout=300 update -q 9>&-
apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$@" 9>&-
