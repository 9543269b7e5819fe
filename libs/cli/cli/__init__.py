"""The retinue command: the embedded stack, operations, benchmarks, tools for developers."""
