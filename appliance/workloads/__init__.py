"""What is run on a drive: one file each."""
