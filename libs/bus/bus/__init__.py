"""NATS: connection, streams, publish, ack policy."""
