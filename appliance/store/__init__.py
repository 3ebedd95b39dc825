# SPDX-License-Identifier: Apache-2.0
"""The database on the stick: the interface between the engine, the TUI and the report.

Plain functions over sqlite3; `select_` reads, `insert_` and `update_` write. Knows no campaign
logic. Tables have singular names and may change with the schema version; the views of
`docs/database.md` have plural names and may not.
"""
