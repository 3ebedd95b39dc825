"""Version 11: whether the page cache was proven empty when a figure's first access began.

`page_cache` and its proof say what the accesses met as a whole: RAM that answers what is read again
makes them `partial`, which nothing proves. How they began is a fact of its own. Of rows from before
it is read from the sentence that was stored about the drop.
"""

_EMPTY = (
    "proof_reason LIKE '%cachestat: no page of%' OR proof_reason LIKE '%cachestat: 0 of %'"
    " OR proof_reason LIKE '%the file is new%'"
)
_COLD = "page_cache = 'cold' OR proof_reason LIKE '%a cold cache was wished for%'"

STATEMENTS: tuple[str, ...] = (
    """
    ALTER TABLE result ADD COLUMN began_cold TEXT NOT NULL DEFAULT ''
        CHECK (began_cold IN ('', 'proven', 'unproven'))
    """,
    f"""
    UPDATE result SET began_cold = CASE
        WHEN page_cache = 'cold' AND page_cache_proof = 'proven' THEN 'proven'
        WHEN ({_COLD}) AND ({_EMPTY}) THEN 'proven'
        WHEN {_COLD} THEN 'unproven'
        ELSE '' END
    """,
)
