#interrupt : olaflab train lander --updates 300
#: docs/training.md: olafctl deploy --hosts lander
