# shellcheck shell=bash
# Sourced by the scripts beside it: the root of the repository and what they share.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Prints the comment at the head of script $1 as its help.
show_help() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$1"
}

# Prints the help of script $1 and ends if $2 asks for it.
help_if_asked() {
  case "${2:-}" in
    -h | --help)
      show_help "$1"
      exit 0
      ;;
  esac
}

# Lets Open MPI start as root, which it refuses by default; containers and CI have no other user.
as_root_mpi_env() {
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1
    export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

# Leaks inside the MPI and UCX libraries are theirs; the file says which.
leak_suppressions_env() {
  export LSAN_OPTIONS="suppressions=$root/tests/leak_suppressions.txt${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
}

# Prints the number of physical cores this process may use.
core_count() {
  local cores usable
  usable=$(nproc)
  cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l) || cores=$usable
  if [ "$cores" -lt 1 ] || [ "$cores" -gt "$usable" ]; then cores=$usable; fi
  echo "$cores"
}

# Whether one of the options $2... is among the words of $1 (which begin and end with a space), alone or as option=value.
given() {
  local words=$1 name
  shift
  for name in "$@"; do
    case "$words" in *" $name "* | *" $name="*) return 0 ;; esac
  done
  return 1
}

# Where scripts/virtual_cluster keeps the cluster $1.
cluster_folder() { echo "/run/$1-cluster"; }

# Puts the number and SHA-256 of the samples of run folder $1, if it has any, in their place: they would be too many to
# commit. Launches added later have a pair of lines of their own.
seal_samples() {
  if [ ! -f "$1/samples.csv" ]; then return; fi
  (cd "$1" && echo "rows $(grep -cv '^#' samples.csv)" && sha256sum samples.csv) >>"$1/samples.sha256"
  rm "$1/samples.csv"
}
