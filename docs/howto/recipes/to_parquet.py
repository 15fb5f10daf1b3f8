# SPDX-License-Identifier: MIT
"""to_parquet.py IN.jsonl OUT.parquet: rows of gemmsmith export as Parquet. Needs pyarrow."""
import sys

if len(sys.argv) != 3:
    sys.exit(__doc__)
import pyarrow.json  # noqa: E402
import pyarrow.parquet  # noqa: E402

pyarrow.parquet.write_table(pyarrow.json.read_json(sys.argv[1], pyarrow.json.ReadOptions(block_size=64 << 20)), sys.argv[2])
