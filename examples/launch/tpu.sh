#!/usr/bin/env bash
# tpu.sh NAME ZONE RECIPE RUN: one command on every host of a TPU pod; RUN must be on a shared file system.
set -euo pipefail
name=$1 zone=$2 recipe=$3 run=$4
resume=""
[ "${RESUME:-}" = 1 ] && resume=--resume
gcloud compute tpus tpu-vm ssh "$name" --zone "$zone" --worker all \
    --command "facetmt train '$recipe' --run '$run' --distributed $resume --set model.compute=bfloat16"
