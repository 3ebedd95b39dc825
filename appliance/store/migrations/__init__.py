"""The schema, one module of single statements per version.

`connect.migrate` runs each version inside one transaction together with the version bump. Never
edit a version that has shipped: add a module and append its statements here.
"""

from appliance.store.migrations import (
    version_1,
    version_2,
    version_3,
    version_4,
    version_5,
    version_6,
    version_7,
    version_8,
    version_9,
    version_11,
    version_12,
    version_13,
    version_14,
    version_15,
    version_16,
)

APPLICATION_ID = 0x4B414C54  # "KALT"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    version_1.STATEMENTS,
    version_2.STATEMENTS,
    version_3.STATEMENTS,
    version_4.STATEMENTS,
    version_5.STATEMENTS,
    version_6.STATEMENTS,
    version_7.STATEMENTS,
    version_8.STATEMENTS,
    version_9.STATEMENTS,
    version_11.STATEMENTS,
    version_12.STATEMENTS,
    version_13.STATEMENTS,
    version_14.STATEMENTS,
    version_15.STATEMENTS,
    version_16.STATEMENTS,
)
