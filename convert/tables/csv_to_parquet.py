"""Writes tables of `dc-memtrace convert --to csv` as Parquet, part by part: csv_to_parquet.py TABLE.csv FILE.parquet ..."""

import sys

import pyarrow
from pyarrow import csv, parquet

TEXTS = {"device", "phase", "operator", "site", "holder"}


def convert(source: str, target: str) -> None:
    with open(source, encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
    types = {name: pyarrow.string() if name in TEXTS else pyarrow.int64() for name in columns}
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    with csv.open_csv(source, convert_options=options) as reader:
        with parquet.ParquetWriter(target, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)


if __name__ == "__main__":
    for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
        convert(source, target)
