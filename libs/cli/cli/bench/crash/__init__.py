"""`retinue bench crash`: kill everything, again and again, under load, and look from the outside whether it held.

`plan` draws the faults from a seed, `striker` carries them out, `crowd` sends messages and watches the answers through
`proxy`, `evidence` gathers what is known afterwards into a `world`, and `verdict` asks every check about it.
"""
