"""Arrays of two drives: bcache's superblocks, its control files, and the way in and out."""
