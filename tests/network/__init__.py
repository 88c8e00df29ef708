"""Systems on more than one machine, and what strangers can do to any."""
