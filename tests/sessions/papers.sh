# In a copy of the checkout: drawn again from committed points; trained again until a training has begun.
tar -C "$ROOT" --exclude='./.*' --exclude=./build --exclude='*.egg-info' -c . | tar x
export PYTHONPATH=$PWD:$PWD/sdk:$PWD/lab:$PWD/switch:$PWD/testkit
#interrupt seed \d+: olaflab reproduce olaf equal-terms --trainings
#interrupt seed \d+: olaflab reproduce olaf fig2 --trainings
#: docs/equal-terms.md: olaflab reproduce
#: docs/training.md: olaflab reproduce
