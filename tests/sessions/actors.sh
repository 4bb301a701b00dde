# Workers with actors.
olafctl deploy --hosts lander
#interrupt awake: olaflab train lander --actors
#interrupt awake: olaflab train lander --virtual --actors
#interrupt updates: olaflab train lander --virtual --learners
#: docs/training.md: olaflab train lander --actors 4
