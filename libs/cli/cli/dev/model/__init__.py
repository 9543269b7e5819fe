"""The scripted model server: a provider that does what a test tells it, well or badly, on the real wire.

`directive` and `script` say what to play, `wire` makes the bytes, `player` sends them in time, `served` remembers
what happened, `server` is the HTTP side. Documented in docs/extend/scripted-model.md.
"""
