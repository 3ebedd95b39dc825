"""Arrays in the report: their section, and what is concluded from them."""
