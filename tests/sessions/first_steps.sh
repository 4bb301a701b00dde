# What make installs is on PATH here.
#leave README.md's session runs it: make install
#leave that made it: . .venv
#: docs/install.md: make install
sed -e 's/^  slots: .*/  slots: 0/' -e 's/^  output_rate: /  output_rat: /' my.yaml > wrong.yaml
#exit 2: olafctl deploy wrong.yaml
#: docs/install.md: olafctl deploy wrong.yaml
