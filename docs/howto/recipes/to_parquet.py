# SPDX-License-Identifier: MIT
"""to_parquet.py IN.jsonl OUT.parquet: rows of gemmsmith export as Parquet. Needs pyarrow."""
import sys

import pyarrow.json
import pyarrow.parquet

pyarrow.parquet.write_table(pyarrow.json.read_json(sys.argv[1], pyarrow.json.ReadOptions(block_size=64 << 20)), sys.argv[2])
