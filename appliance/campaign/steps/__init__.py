"""Steps: each workload on its drive or array, in order, guarded, recorded, resumed."""
