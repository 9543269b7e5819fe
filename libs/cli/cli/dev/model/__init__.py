"""The scripted model server: a provider that does what a test tells it, well or badly, on the real wires.

`directive` and `script` say what to play, `wire` with a file for each provider makes the bytes (`frames`), `player`
sends them in time, `served` remembers what happened, `listings` says which models there are, `server` is the HTTP
side. Documented in docs/extend/scripted-model.md.
"""
