#!/usr/bin/env bash
# by_hand.sh RECIPE RUN NODE...: one process per node over ssh; the first node is the coordinator.
# Give the node `localhost` twice to try it on one machine.
set -euo pipefail
recipe=$1 run=$2
shift 2
nodes=("$@")
resume=""
[ -e "$run/recipe.yaml" ] && resume=--resume
facetmt prepare "$recipe"
pids=()
for number in "${!nodes[@]}"; do
    command="facetmt train '$recipe' --run '$run' $resume \
        --coordinator '${nodes[0]}:12345' --processes ${#nodes[@]} --process $number"
    if [ "${nodes[$number]}" = localhost ]; then
        bash -c "$command" &
    else
        # shellcheck disable=SC2029  # the command is built here
        ssh "${nodes[$number]}" "cd '$PWD' && $command" &
    fi
    pids+=($!)
done
code=0
for pid in "${pids[@]}"; do
    wait "$pid" || code=$?
done
exit "$code"
