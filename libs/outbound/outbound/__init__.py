"""The one guarded client for addresses that people or models give: public addresses only, checked and bounded."""
