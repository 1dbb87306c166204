#!/usr/bin/env bash
# sbatch slurm.sh RECIPE RUN: one process per node, using all its devices.
# Recipe, text and RUN must be on a shared file system.
#SBATCH --job-name=facetmt
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=16
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -euo pipefail
recipe=$1 run=$2
resume=()
[ -e "$run/recipe.yaml" ] && resume=(--resume)
# Slurm sends SIGTERM two minutes before the time limit: the run saves, exits with code 75 and is requeued.
code=0
srun --kill-on-bad-exit=0 facetmt train "$recipe" --run "$run" --distributed "${resume[@]}" || code=$?
if [ "$code" -eq 75 ] || [ "$code" -eq 76 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
