"""What a drive says of itself: health, links, power cycles, hidden capacity."""
