# What is predicted repeats with its seeds.
#exact
#: docs/simulate.md: olaflab gain
