"""A verdict for people and programs: its cause, its lines, its JSON values, its picture."""
