"""What every service stands on: settings, logs, traces, health, lifespan, pools, outbox relay."""
