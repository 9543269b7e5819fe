"""Blobs: bytes too large for a row or the wire, kept under their hash. One interface; today one backend, a folder.

Who may reach a blob is not known here: outside, it is reached only through a reference row of a user
(`store.repositories.blobs`), never by its hash.
"""

from blobs.folder import FolderBlobs
from blobs.store import BlobMissing, BlobsFull, BlobStore, BlobTooLarge, Incoming, Stored, Threads

__all__ = [
    "BlobMissing",
    "BlobStore",
    "BlobTooLarge",
    "BlobsFull",
    "FolderBlobs",
    "Incoming",
    "Stored",
    "Threads",
]
