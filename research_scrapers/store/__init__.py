"""What is remembered: the ledger of work and the records. The only room that knows SQL."""
