// Parquet files, written from CSV by a Python that has pyarrow. No code of a trace is run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "cli/inputs.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// Fails with kCannotRecord if that Python cannot be started or has no pyarrow.
Status check_pyarrow(const std::string& python);

/// `files`: pairs of a CSV file and the Parquet file to make of it.
Status csv_to_parquet(const std::string& python, const std::vector<std::pair<std::string, std::string>>& files);

/// What to write for a folder of traces.
struct ParquetFolder {
  std::string folder;               ///< must be new or empty
  std::vector<std::string> tables;  ///< "lifetimes", "curve"
  std::string python;
};

/// Writes TABLE/rank=N/NAME.parquet for each trace and table: the layout of a partitioned data set, whose readers give
/// each row its rank, or null for a trace without one. After a failure no file is left. Returns true if some trace has
/// steps with sums only.
Expected<bool> write_parquet_folder(std::vector<OpenedTrace> traces, const ParquetFolder& wanted);

}  // namespace dcmt::cli
