# Each package, in a copy of the checkout and an environment that has what they need already.
#internet
tar -C "$ROOT" --exclude='./.*' --exclude=./build --exclude='*.egg-info' -c . | tar x
python -m venv environment
echo "import site; site.addsitedir('$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
    > "$(environment/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
unset PYTHONPATH
. environment/bin/activate
#: switch/README.md: pip install
#: sdk/README.md: pip install
#: lab/README.md: pip install
