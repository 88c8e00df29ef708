"""The contract on real processes, rule by rule, as a user of the public functions sees it."""
