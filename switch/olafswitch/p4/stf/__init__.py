"""STF, the language for test packets and expected results: its commands, applied to a switch."""
