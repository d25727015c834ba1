#!/bin/bash
# On the card machine: makes the data of a set and measures its programs. With the first set, contexts and ranks are measured
# besides, while nothing else is on the card.
#   bash run.sh OUT [SECONDS] [SET]
out=$1
seconds=${2:-350}
set=${3:-.}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(dirname "$here")
export PYTHONUNBUFFERED=1
began=$SECONDS
{
  python3 -m pip list 2>/dev/null | grep -iE "^(torch|numpy|transformers|timm|peft|lightning|accelerate|scipy|scikit|pillow|triton|sentencepiece|tiktoken|matplotlib|opencv|h5py|nvidia-)" || true
  nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv
} >"$out/versions.txt" 2>&1
python3 "$here/$set/data.py" "$folder" >"$out/data.log" 2>&1 &
making=$!
if [ "$set" = . ]; then
  for kind in plain pinned; do timeout 60 python3 "$here/context/host.py" "$out/host.jsonl" $kind 2>>"$out/data.log"; done
  for words in "resnet50" "gpt" "resnet50 wait" "gpt wait"; do
    # shellcheck disable=SC2086 # the words are arguments
    timeout 60 python3 "$here/context/first_buckets.py" "$out/first_buckets.jsonl" $words 2>>"$out/data.log" | tail -2
  done
fi
wait $making
echo "data and contexts after $((SECONDS - began)) s"
python3 "$here/measure.py" "$folder" "$out" --set "$set" --at-once 6 --seconds "$((seconds - SECONDS + began))"
echo "all after $((SECONDS - began)) s"
