"""Arrays of two drives: bcache superblocks, control files, assembling and dismantling."""
