"""`retinue user`, `retinue token`, `retinue invite`: what an operator does with accounts, straight in the database.

They work on the stack of the data folder, or on the deployment that RETINUE_DATABASE_SYSTEM_URL names. A running
gateway honours a change within seconds (`RETINUE_AUTH_CACHE`).
"""
