# SPDX-License-Identifier: MIT
# A PostgreSQL server for a test, from what Debian's package has: its files in a new folder, a socket there, no network.
#   . postgres.sh; postgres_start || exit 77; ... postgres_connection ...; postgres_stop
# shellcheck shell=sh
postgres_bin=
for folder in $(pg_config --bindir 2>/dev/null) /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
    [ ! -x "$folder/initdb" ] || [ ! -x "$folder/pg_ctl" ] || postgres_bin=$folder
done
postgres_as() { # the server refuses to run as root
    if [ "$(id -u)" != 0 ]; then
        "$@"
    elif id postgres >/dev/null 2>&1; then
        setpriv --reuid postgres --regid "$(id -g postgres)" --clear-groups -- "$@"
    else
        setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups -- "$@"
    fi
}
postgres_start() {
    if [ -z "$postgres_bin" ]; then
        echo "SKIPPED: PostgreSQL is not installed (Debian: postgresql; scripts/setup.sh tests installs it)"
        return 1
    fi
    postgres_folder=$(mktemp -d /tmp/gs-pg-XXXXXX)
    chmod 0777 "$postgres_folder"
    (cd / && postgres_as "$postgres_bin/initdb" -D "$postgres_folder/data" -U gs -A trust -E UTF8 --locale=C.UTF-8 -N >"$postgres_folder/initdb.log" 2>&1) ||
        { cat "$postgres_folder/initdb.log"; return 1; }
    postgres_up
}
postgres_up() { # fsync stays on: the tests are about what is kept
    (cd / && postgres_as "$postgres_bin/pg_ctl" -D "$postgres_folder/data" -w -t 60 -l "$postgres_folder/data/log" \
        -o "-c listen_addresses= -c unix_socket_directories=$postgres_folder -c max_connections=100 -c shared_buffers=16MB" start >/dev/null 2>&1)
}
postgres_down() { # postgres_down fast|immediate
    (cd / && postgres_as "$postgres_bin/pg_ctl" -D "$postgres_folder/data" -m "$1" -w -t 60 stop >/dev/null 2>&1)
}
postgres_connection() { echo "host=$postgres_folder user=gs dbname=postgres"; }
postgres_stop() {
    postgres_down immediate || true
    rm -rf "$postgres_folder"
}
