# shellcheck shell=bash
# Sourced by virtual_cluster, which sets name, folder, switch, racks, hosts and the rates: makes and removes a cluster.
# shellcheck disable=SC2154  # set there

subnet=10.77.0.0/16 # of every cluster: they cannot see each other
burst_bytes=131072  # under 64 KiB, both directions at once reach half of the rate
# Of every port: holds the windows of several connections at once, because the fabrics that this stands for lose nothing. At 200 KB
# two connections into one port took a quarter to a half longer, with packets dropped and sent again.
queue_bytes=1000000
mtu=1500

rack_of() { # host $1
  local rack=${1%h*}
  echo "${rack#r}"
}

address_of() { # host $1
  echo "10.77.$(rack_of "$1").$((${1#*h} + 1))"
}

# Prints the names of the hosts to make, rack by rack.
host_names() {
  local rack host
  for ((rack = 0; rack < racks; ++rack)); do
    for ((host = 0; host < hosts; ++host)); do echo "r${rack}h$host"; done
  done
}

# Runs a command in host $1.
in_host() {
  local host=$1
  shift
  "$root/scripts/virtual_cluster_agent" --name "$name" "$host" "$@"
}

# Fails unless this process may enter and remove namespaces.
need_root() {
  local tool
  for tool in ip tc unshare nsenter hostname mount flock awk; do
    if ! command -v "$tool" >/dev/null; then fail 3 "$tool is not installed (scripts/setup)"; fi
  done
  if [ "$(id -u)" -ne 0 ]; then fail 3 "needs root, to make network namespaces"; fi
}

# Fails, saying what is missing, unless this process may make a cluster.
need_rights() {
  local reason
  need_root
  if ! unshare --net --uts --ipc --mount true 2>/dev/null; then
    fail 3 "this root may not make namespaces (CAP_SYS_ADMIN is missing)"
  fi
  # Gone with its namespace, whatever comes of it.
  if ! reason=$(unshare --net sh -e 2>&1 <<TRIAL
    ip link add name one type veth peer name two
    ip link add name rack type bridge
    tc qdisc add dev one root tbf rate 1gbit burst $burst_bytes limit $queue_bytes
TRIAL
  ); then
    fail 3 "the kernel or the rights lack veth, bridge or tbf: $(head -1 <<<"$reason")"
  fi
}

# One up or down at a time, on this machine. Children keep the lock: what a killed up has started still ends before a down.
lock() {
  exec 9</run
  if ! flock -w 120 9; then fail 3 "another up or down has been running for 120 s"; fi
}

# Prints the network namespaces of the cluster, whole or not.
namespaces() {
  find /run/netns -maxdepth 1 -name "$name-*" -printf '%f\n' 2>/dev/null | grep -Ex "$name-(switch|r[0-9]+h[0-9]+)" || true
}

# Prints the processes that live in the cluster.
cluster_processes() {
  local namespace
  for namespace in $(namespaces); do ip netns pids "$namespace" 2>/dev/null || true; done
}

# Ends them: asks, and after two seconds insists.
end_processes() {
  local tries pids signal=TERM
  for ((tries = 0; tries < 100; ++tries)); do
    pids=$(cluster_processes)
    if [ -z "$pids" ]; then return 0; fi # plain return in a trap returns the status from before it
    if [ "$tries" -eq 40 ]; then signal=KILL; fi
    # shellcheck disable=SC2086  # one word a process
    if [ $((tries % 40)) -eq 0 ]; then kill -"$signal" $pids 2>/dev/null || true; fi
    sleep 0.05
  done
  fail 1 "cannot end the processes $(tr '\n' ' ' <<<"$pids")"
}

# Removes everything, also from a cluster that is not whole.
remove_cluster() {
  local namespace file
  rm -f "$folder/options"
  end_processes
  for namespace in $(namespaces); do
    ip netns delete "$namespace" 2>/dev/null || rm -f "/run/netns/$namespace"
    rm -rf "/etc/netns/$namespace"
  done
  rmdir /etc/netns 2>/dev/null || true
  for file in "$folder"/hosts/*/*; do
    while umount "$file" 2>/dev/null; do :; done
  done
  rm -rf --one-file-system "$folder"
}

# Adds a token bucket of $3 to the device $2 of the namespace $1; none for an empty rate.
shape() {
  if [ -z "$3" ]; then return; fi
  tc -n "$1" qdisc add dev "$2" root tbf rate "$3" burst "$burst_bytes" limit "$queue_bytes"
}

# Makes the network namespace $1. IPv6 is off: its announcements would count as traffic.
make_namespace() {
  ip netns add "$1"
  # shellcheck disable=SC2016  # the inner shell expands
  ip netns exec "$1" sh -ec '
    for scope in all default; do
      file=/proc/sys/net/ipv6/conf/$scope/disable_ipv6
      if [ -e $file ]; then echo 1 >$file; fi
    done
    echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle
    ip link set lo up'
}

# Makes host $1 of rack $2, with its cable to the rack's bridge.
make_host() {
  local host=$1 of_host=$folder/hosts/$1 own=$name-$1
  make_namespace "$own"
  mkdir -p "$of_host/shm" "/etc/netns/$own"
  cp "$folder/hosts.txt" "/etc/netns/$own/hosts"
  touch "$of_host/uts" "$of_host/ipc"
  unshare --uts="$of_host/uts" --ipc="$of_host/ipc" hostname "$host"
  mount -t tmpfs -o mode=1777,nosuid,nodev "$name-$host" "$of_host/shm"
  ip -n "$switch" link add name "$host" type veth peer name eth0 netns "$own"
  shape "$switch" "$host" "$host_rate"
  shape "$own" eth0 "$host_rate"
  ip -n "$switch" link set "$host" master "$2" up
  ip -n "$own" address add "$(address_of "$host")/${subnet#*/}" dev eth0
  ip -n "$own" link set eth0 up
}

# Joins the bridges $1 and $2 by a cable whose ends are called $3 and $4.
join_bridges() {
  ip -n "$switch" link add name "$3" type veth peer name "$4"
  shape "$switch" "$3" "$spine_rate"
  shape "$switch" "$4" "$spine_rate"
  ip -n "$switch" link set "$3" master "$1" up
  ip -n "$switch" link set "$4" master "$2" up
}

make_bridge() { # called $1
  ip -n "$switch" link add name "$1" type bridge
  ip -n "$switch" link set "$1" up
}

make_racks() {
  local rack
  make_namespace "$switch"
  for ((rack = 0; rack < racks; ++rack)); do make_bridge "rack$rack"; done
  if [ "$racks" -eq 2 ]; then
    join_bridges rack0 rack1 rack0_up rack1_up
  elif [ "$racks" -gt 2 ]; then
    make_bridge spine
    for ((rack = 0; rack < racks; ++rack)); do join_bridges "rack$rack" spine "rack${rack}_up" "rack${rack}_down"; done
  fi
}

# Prints what a program may know of racks and hosts, as JSON.
cluster_json() {
  host_names | awk -F '[rh]' '
    { by_rack[$2] = by_rack[$2] (by_rack[$2] == "" ? "" : ", ") "\"" $0 "\""; racks = $2 + 1 }
    END {
      printf "{\"racks\": ["
      for (r = 0; r < racks; ++r) printf "%s\n  {\"name\": \"rack%d\", \"hosts\": [%s]}", r ? "," : "", r, by_rack[r]
      print "\n]}"
    }'
}

# The same of the rates; goodput is what TCP's payload can have of them.
shaping_json() {
  awk -v host="$host_bps" -v spine="$spine_bps" -v burst="$burst_bytes" -v queue="$queue_bytes" -v mtu="$mtu" '
    function rate(bps) { return bps == "" ? "null" : bps }
    # A packet carries 20 bytes of IP, 20 of TCP and 12 of its time stamp, and 14 of Ethernet around them.
    function goodput(bps) { return bps == "" ? "null" : sprintf("%.0f", bps / 8 * (mtu - 52) / (mtu + 14)) }
    BEGIN {
      printf "{\"host_rate_bps\": %s, \"spine_rate_bps\": %s, \"burst_bytes\": %d, \"queue_bytes\": %d,\n", rate(host), rate(spine), burst, queue
      printf " \"goodput_Bps\": %s, \"spine_goodput_Bps\": %s, \"mtu\": %d}\n", goodput(host), goodput(spine), mtu
    }'
}

# Prints the options that make the cluster, in one line.
cluster_options() { echo "--racks $racks --hosts $hosts --host-rate ${host_rate:-none} --spine-rate ${spine_rate:-none}"; }

make_cluster() {
  local host
  mkdir -p "$folder/tmp"
  chmod 1777 "$folder/tmp"
  {
    echo "127.0.0.1 localhost"
    for host in $(host_names); do echo "$(address_of "$host") $host"; done
  } >"$folder/hosts.txt"
  cluster_json >"$folder/cluster.json"
  shaping_json >"$folder/shaping.json"
  make_racks
  for host in $(host_names); do make_host "$host" "rack$(rack_of "$host")"; done
  if [ "$(in_host "$host" hostname)" != "$host" ]; then fail 3 "cannot enter host $host"; fi
  # The last file: without it the cluster is not whole.
  cluster_options >"$folder/options.new"
  mv "$folder/options.new" "$folder/options"
}
