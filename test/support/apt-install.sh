#!/bin/sh
# Installs Debian packages as root, without letting any of them start a server: `apt-install.sh package…`
set -eu

# If two test runs install packages at the same time, the second waits for the first.
exec 9>/var/lock/kalends-apt
flock 9

# Debian packages start their servers on installation unless this file forbids it.
# An existing file belongs to the administrator and is kept.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
# 9>&-: processes that apt leaves running must not keep the lock.
apt-get -o DPkg::Lock::Timeout=300 update -q 9>&-
apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$@" 9>&-
