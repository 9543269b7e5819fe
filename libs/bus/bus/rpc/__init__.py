"""Questions between services: request and reply with a deadline and a user, over core NATS.

`asking` is the side that wants to know, `answering` the side that does; nothing is kept, nothing is repeated: who gets
no answer asks again or says so.
"""
