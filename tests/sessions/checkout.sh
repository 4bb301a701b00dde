# In a copy of the checkout.
#internet
tar -C "$ROOT" --exclude='./.*' --exclude=./build --exclude='*.egg-info' -c . | tar x
unset PYTHONPATH
#leave what runs this begins with it: make test
#: README.md: make demo
#: README.md: make install
