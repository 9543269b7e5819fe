"""What services say to each other and to browsers: events, chunks, batches, messages."""
