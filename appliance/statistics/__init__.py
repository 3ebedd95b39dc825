"""Statistics without a subject: quantiles, intervals, ratios, sample sizes. Pure."""
