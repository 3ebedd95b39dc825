"""How busy each drive is, from the counters of the kernel."""
