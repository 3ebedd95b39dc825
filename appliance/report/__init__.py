# SPDX-License-Identifier: Apache-2.0
"""The report of a campaign: rows, views, charts, pages and the files on the stick.

Reads the store and the statistics and nothing else; must never change the database it reports on.
Everything a drive or a plan says is made printable where a page (`pages`) or a chart is drawn.
"""
