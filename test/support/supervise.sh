#!/bin/sh
# Runs a private server until stdin is closed: `supervise.sh folder command…`
#
# The test runner holds the other end of stdin.
# When the runner closes that end or is killed, even by kill -9, the server is stopped and its folder is removed.
# No test run leaves a server behind.
set -u
folder=$1
shift

exec 3<&0 </dev/null
"$@" 3<&- &
server=$!

# A server that does not stop on request is killed.
# Its process id cannot belong to another process, because the server is a child of this script until `wait` returns.
{
  read -r _ <&3
  kill -TERM "$server"
  sleep 30 >/dev/null 3<&-
  kill -KILL "$server"
} 2>/dev/null &
watcher=$!

wait "$server"
code=$?
kill "$watcher" 2>/dev/null
rm -rf "$folder"
exit "$code"
