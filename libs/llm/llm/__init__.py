"""Model calls: one file per wire format, typed events, typed errors, the built-in demo model."""
