"""Why the stack will not do something, said in one sentence to the person at the terminal."""


class Refused(Exception):
    """The request cannot be carried out; `str(error)` is one sentence with the reason and the remedy."""
