"""The turn loop: claims turns, calls models and tools, writes the chunk log and the ledger."""
