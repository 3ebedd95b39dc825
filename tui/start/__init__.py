"""The way to a start: release by serial number, then the request."""
