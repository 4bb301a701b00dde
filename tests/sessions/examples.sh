# The SDK's examples, in a copy of the checkout and an environment that has torch already.
#internet
tar -C "$ROOT" --exclude='./.*' --exclude=./build --exclude='*.egg-info' -c . | tar x
python -m venv environment
echo "import site; site.addsitedir('$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
    > "$(environment/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
unset PYTHONPATH
. environment/bin/activate
#interrupt episode: python sdk/examples/maddpg
#: docs/experience.md: pip install
#: docs/weights.md: pip install
