"""Signatures under reasoning: made for one wire and model, and refused, as providers do, when they are not ours."""

import base64
import hashlib


def sign(wire: str, model: str, thought: str) -> str:
    """An opaque word that only this wire and model take back."""
    digest = hashlib.sha256(thought.encode()).hexdigest()[:16]
    return base64.b64encode(f"scripted|{wire}|{model}|{digest}".encode()).decode()


def is_ours(signature: object, wire: str, model: str) -> bool:
    try:
        signed = base64.b64decode(str(signature), validate=True)
    except ValueError:
        return False
    return signed.startswith(f"scripted|{wire}|{model}|".encode())
