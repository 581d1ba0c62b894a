#!/bin/sh
# Removes the folder "$1" when standard input closes. It retries, since processes that write there end at the same moment.
while read -r _; do :; done
for _ in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1" 2>/dev/null
  [ -e "$1" ] || exit 0
  sleep 0.5
done
