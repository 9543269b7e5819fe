"""What can go wrong with sealing, each error named by what to do. None ever holds a key or a value."""


class VaultError(Exception):
    """Base of all of them; its text is a sentence for people."""


class KeysMissing(VaultError):
    """Do not start: the keys are not there, damaged, or open to others. The text names the place and the remedy."""


class KeysAway(VaultError):
    """Try again: whoever keeps the keys does not answer now."""


class NotOpened(VaultError):
    """Ask for the secret anew: it was sealed for something else, with another key, or is damaged."""
