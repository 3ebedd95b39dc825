"""The flush workload: small writes, each made safe before the next."""
