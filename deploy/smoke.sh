#!/bin/sh
# Does a running server work? Needs a POSIX shell, curl and awk.
#
#   deploy/smoke.sh BASE_URL [TOKEN]     for example: deploy/smoke.sh http://127.0.0.1:8000
#
# TOKEN must have the role admin on '*'; it may stand in POWERCONTEXT_TOKEN too, where no process list shows it. One line a
# check; the first one that fails ends the run with exit code 1. Works in two Scopes of its own and deletes them at the end,
# so it may run again, and beside other users.
set -eu

base=${1:?say where the server is: deploy/smoke.sh http://127.0.0.1:8000 [TOKEN]}
base=${base%/}
token=${2:-${POWERCONTEXT_TOKEN:-}}
run="$(date +%s)-$$"
team="smoke:$run:team"
project="smoke:$run:project"
checks=0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
answer=$scratch/answer
content=$scratch/content

# What curl is told in a file stands in no process list.
credentials() {
  printf '%s\n' "$1" | sed -e 's/[\\"]/\\&/g' -e 's/.*/header = "Authorization: Bearer &"/' >"$2"
}
(umask 077; : >"$scratch/none"; : >"$scratch/own"; : >"$scratch/stranger")
if [ -n "$token" ]; then credentials "$token" "$scratch/own"; fi
as=own

ok() { checks=$((checks + 1)); printf 'ok      %s\n' "$1"; }
skipped() { printf 'skipped %s (no TOKEN given)\n' "$1"; }

failed() {
  printf 'FAILED  %s\n' "$1"
  if [ -s "$answer" ]; then printf '        the answer: '; head -c 2000 "$answer"; echo; fi
  exit 1
}

# call STATUS METHOD PATH [BODY]: the answer lies in $answer. Fails on any other status.
call() {
  : >"$answer"
  got=$(curl -sS --max-time 30 -K "$scratch/$as" -X "$2" -o "$answer" -w '%{http_code}' \
    ${4+-H 'Content-Type: application/json' --data-binary "$4"} "$base$3" 2>"$scratch/curl") \
    || failed "$2 $3: $(cat "$scratch/curl")"
  [ "$got" = "$1" ] || failed "$2 $3: expected $1, got $got"
}

holds() { grep -qF -- "$1" "$2" || failed "$3: lacks $1"; }
lacks() { if grep -qF -- "$1" "$2"; then failed "$3: must not hold $1"; fi; }

# field NAME: the first string of that name in the answer.
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$answer" | head -n 1; }

# The text that a host would inject goes to $content; its bytes must be as many as the answer says.
take_content() {
  awk '{
    sub(/^.*,"content":"/, ""); sub(/","content_bytes":[0-9]+}$/, "")
    gsub(/\\\\/, "\001"); gsub(/\\n/, "\n"); gsub(/\\"/, "\""); gsub(/\001/, "\\\\")
    printf "%s", $0
  }' "$answer" >"$content"
  said=$(sed -n 's/.*"content_bytes":\([0-9]*\)}$/\1/p' "$answer")
  counted=$(($(wc -c <"$content")))
  [ "$said" = "$counted" ] || failed "$1: content_bytes is $said, counted are $counted"
}

# Citations of the text in $content, one a line: Scope, family, Artifact id, revision, and for Memory entry and version.
citations_of_markdown() {
  awk -F '"' '
    /^    Scope: /     { scope = $2 }
    /^    Artifact: /  { family = $2; id = $4; revision = $5; sub(/^.*=/, "", revision); entry = "" }
    /^    Entry: /     { entry = $2 " " $4 }
    /^    Truncated: / { print scope, family, id, revision, entry }
  ' "$content"
}

citations_of_legacy() {
  awk -v current="$project" '
    function value(name, at) {
      at = index(item, "\"" name "\":")
      if (!at) return ""
      at = substr(item, at + length(name) + 3)
      sub(/^"/, "", at); sub(/[",}].*$/, "", at)
      return at
    }
    /^{"trust":/ {
      count = split($0, items, /{"citation":/)
      for (i = 2; i <= count; i++) {
        item = items[i]
        scope = value("scope_id")
        print (scope == "" ? current : scope), value("family"), value("artifact_id"), value("revision"), value("entry_id"), value("entry_version_id")
      }
    }
  ' "$content"
}

# Every citation is read exactly as it stands there; how many there are is the second argument.
read_citations() {
  number=0
  while read -r scope family id revision entry version; do
    number=$((number + 1))
    if [ "$family" = memory ]; then
      ref="{\"family\":\"memory\",\"artifact_id\":\"$id\",\"revision\":$revision}"
      cited="{\"memory_ref\":$ref,\"entry_id\":\"$entry\",\"entry_version_id\":\"$version\"}"
      call 200 POST /v1/memory/entries/get "{\"scope_id\":\"$scope\",\"citation\":$cited}"
      holds "\"entry_version_id\":\"$version\"" "$answer" "exact read of $family"
    else
      call 200 GET "/v1/scopes/$scope/artifacts/$family/$id/revisions/$revision"
      holds "\"artifact_id\":\"$id\",\"revision\":$revision" "$answer" "exact read of $family"
    fi
    holds "canary" "$answer" "exact read of $family"
  done <"$scratch/citations"
  [ "$number" = "$2" ] || { : >"$answer"; failed "$1: expected $2 citations, found $number"; }
  ok "$1: $number citations, each read exactly"
}

prepare() {
  call 200 POST /v1/context/prepare "{\"scope_id\":\"$project\",\"query\":\"How does the canary rollout go?\"$1}"
  holds '"status":"ready"' "$answer" "$2"
  take_content "$2"
  holds "Say it in the canary channel" "$content" "$2"
  holds "先灰度再全量" "$content" "$2"
}

approve_proposal() {
  candidate=$(field candidate_id)
  call 200 POST /v1/artifact-candidates/approve "{\"scope_id\":\"$project\",\"candidate_id\":\"$candidate\",\"expected_version\":1}"
  holds '"status":"approved"' "$answer" approve
}

create_scope() {
  call 201 POST /v1/scopes "{\"scope_id\":\"$1\",\"title\":\"Smoke\",\"summary\":\"Made by smoke.sh\",\"idempotency_key\":\"$1\"$2}"
}

call 200 GET /health/live
ok "live"
call 200 GET /health/ready
holds '"status":"ready"' "$answer" ready
ok "ready"

if [ -n "$token" ]; then
  as=none
  call 401 GET /v1/capabilities
  as=own
  ok "without a token: 401"
else
  skipped "without a token: 401"
fi

create_scope "$team" ""
create_scope "$project" ",\"context_references\":[\"$team\"]"
holds "\"context_references\":[\"$team\"]" "$answer" "create Scope"
create_scope "$project" ",\"context_references\":[\"$team\"]"
ok "two Scopes, one references the other; a repeat changes nothing"

call 200 POST /v1/memory/remember "{\"scope_id\":\"$team\",\"kind\":\"convention\",\"text\":\"Say it in the canary channel before a rollout.\"}"
call 200 POST /v1/memory/remember "{\"scope_id\":\"$project\",\"kind\":\"constraint\",\"text\":\"Every rollout needs a canary: 先灰度再全量.\"}"
holds '"version":1' "$answer" remember
call 200 POST /v1/memory/remember "{\"scope_id\":\"$project\",\"kind\":\"constraint\",\"text\":\"Every rollout needs a canary: 先灰度再全量.\"}"
holds '"entry":null' "$answer" "remember again"
ok "remember in both; a repeat makes no entry"

experience='{"situation":"The canary rollout failed","action":"Rolled back","outcome":"No harm","lesson":"Look at the canary first"}'
call 201 POST /v1/experience/propose "{\"scope_id\":\"$project\",\"proposal\":$experience}"
approve_proposal
ok "propose and approve an Experience"
call 201 POST /v1/profile/propose "{\"scope_id\":\"$project\",\"content\":\"Works on canary rollouts.\"}"
approve_proposal
ok "propose and approve a Profile"

prepare "" "assembly omitted"
holds "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" "$content" "assembly omitted"
citations_of_legacy >"$scratch/citations"
read_citations "assembly omitted" 3

prepare ',"assembly":{}' "assembly {}"
holds "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1" "$content" "assembly {}"
lacks "## Profile" "$content" "assembly {}"
citations_of_markdown >"$scratch/citations"
read_citations "assembly {}" 3

prepare ',"assembly":{"sections":[{"family":"profile","limit":1},{"family":"experience","limit":1},{"family":"memory","limit":4}],"show":["recall_rank"]},"max_bytes":5000' sections
holds "Recall rank: 1" "$content" sections
order=$(sed -n 's/^## //p' "$content" | tr '\n' ' ')
[ "$order" = "Profile Experience Memory " ] || { : >"$answer"; failed "sections: in the order $order"; }
[ "$counted" -le 5000 ] || failed "sections: $counted bytes, 5000 are allowed"
citations_of_markdown >"$scratch/citations"
read_citations "sections" 4

call 422 POST /v1/context/prepare "{\"scope_id\":\"$project\",\"query\":\"canary\",\"assembly\":{\"sections\":[{\"family\":\"memory\",\"limit\":9}]}}"
holds '"code":"invalid_request"' "$answer" "a limit of 9"
holds '"limit"' "$answer" "a limit of 9"
ok "a limit of 9: 422 that names the field"

if [ -n "$token" ]; then
  call 201 POST /v1/access/tokens "{\"id\":\"smoke-$run\",\"description\":\"Made by smoke.sh\"}"
  token_id=$(field token_id)
  credentials "$(field token)" "$scratch/stranger"
  as=stranger
  call 403 POST /v1/context/prepare "{\"scope_id\":\"$project\",\"query\":\"canary\"}"
  holds '"code":"forbidden"' "$answer" "a token without grants"
  as=own
  ok "a token without grants: 403"
  call 200 POST /v1/access/tokens/revoke "{\"token_id\":\"$token_id\"}"
  # With several workers the others hear of it within one second.
  sleep 1
  as=stranger
  call 401 POST /v1/context/prepare "{\"scope_id\":\"$project\",\"query\":\"canary\"}"
  as=own
  ok "the same token revoked: 401"
else
  skipped "a token without grants: 403; the same token revoked: 401"
fi

call 200 POST "/v1/scopes/$project/delete" '{"expected_version":1}'
call 200 POST "/v1/scopes/$team/delete" '{"expected_version":1}'
call 404 GET "/v1/scopes/$project"
ok "both Scopes deleted"
printf '%s checks passed\n' "$checks"
