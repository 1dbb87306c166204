#!/usr/bin/env bash
# ./study_slurm.sh STUDY.yaml DIR: submits one array task per cell of a study.
# Study, recipe, text and DIR must be on a shared file system.
#SBATCH --job-name=facetmt-study
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -euo pipefail
study=$1 out=$2
if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    count=$(facetmt study "$study" --cells | wc -l)
    exec sbatch --array="1-$count" "$0" "$study" "$out"
fi
cell=$(facetmt study "$study" --cells | sed -n "${SLURM_ARRAY_TASK_ID}p")
# Slurm sends SIGTERM two minutes before the time limit: the cell saves, exits with code 75 and is requeued.
code=0
srun facetmt study "$study" --out "$out" --cell "$cell" || code=$?
if [ "$code" -eq 75 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
