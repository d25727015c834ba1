#!/usr/bin/env bash
# Records the extra snapshots on a real card: record_extra.sh OUTDIR (needs torch with CUDA and transformers).
set -u
here=$(cd "$(dirname "$0")" && pwd); out=$1; mkdir -p "$out/oom"
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1
python3 "$here/extra_allocator/churn.py" "$out/allocator" > "$out/allocator.log" 2>&1
i=0
record() {  # SCRIPT MODE
  name=$(basename "$1" .py)
  ( cd "$(dirname "$1")" && RECORD=$2 timeout 150 python3 ../record.py "$(basename "$1")" "$out/oom/$name.pickle.gz" > "$out/oom/$name.log" 2>&1 )
}
for script in "$here"/extra_oom/scripts/*.py; do
  case $script in *_outside.py) continue ;; esac  # these fill the card: alone, below
  i=$((i + 1))
  [ $((i % 2)) = 0 ] && mode=observer || mode=after
  record "$script" $mode &
  [ $((i % 8)) = 0 ] && wait
done
wait
for script in "$here"/extra_oom/scripts/*_outside.py; do record "$script" observer; done
