# A learner is a function of the script, as everything here is.
#: sdk/README.md: if __name__ -> block.py
cat > before.py <<'END'
import time

from olaf.elastic import Learners, Ledger, Processes

waiting, learnt, training = [[1.0, 2.0], [3.0]], [], True


def learn(weights, rows):
    return weights + sum(rows)


def take():
    return waiting.pop() if waiting else None


def newest():
    return 10.0


def deliver(result):
    global training
    learnt.append(result)
    training = len(learnt) < 2


END
cat > after.py <<'END'
    assert sorted(learnt) == [13.0, 13.0]
    processes.close()
END
cat before.py block.py after.py > program.py
python program.py
