"""The pages, and the dialogs they ask with."""
