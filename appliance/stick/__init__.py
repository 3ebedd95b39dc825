"""The stick itself: its partitions, and the FAT that other systems read."""
