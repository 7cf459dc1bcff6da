#include "cli/parquet.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "cli/child_output.h"
#include "cli/installation.h"
#include "cli/long_work.h"
#include "convert/tables/csv.h"
#include "trace/base/printable.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

// A start of Python costs as much as many small tables. Large tables must not fill the temporary folder.
constexpr std::size_t kMostAtOnce = 256;
constexpr std::uintmax_t kMostBytesAtOnce = 256 << 20;

/// Collects tables as CSV, and has Python convert them when there are enough.
class Tables {
 public:
  Tables(const ScratchFolder& scratch, const ParquetFolder& wanted) : scratch_(scratch.path()), wanted_(wanted) {}

  Status add(const OpenedTrace& trace, const analyzer::TraceData& data, const std::string& table,
             const analyzer::Watch& watch) {
    const std::string rank = trace.rank < 0 ? "__HIVE_DEFAULT_PARTITION__" : std::to_string(trace.rank);
    const fs::path folder = fs::path(wanted_.folder) / table / ("rank=" + rank);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return {ErrorCode::kIo, printable(folder.string()) + ": cannot be made: " + error.message() + "."};
    const fs::path csv = scratch_ / (std::to_string(files_.size()) + ".csv");
    std::ofstream out(csv, std::ios::binary);
    DCMT_RETURN_IF_ERROR(table == "curve" ? convert::write_curve_csv(data, out, watch)
                                          : convert::write_lifetimes_csv(data, out, watch));
    out.close();
    if (!out)
      return {ErrorCode::kIo, scratch_.string() + ": cannot be written: is the disk full? TMPDIR names another."};
    bytes_ += fs::file_size(csv, error);
    const std::string name = fs::path(trace.database.path()).stem().string();
    files_.emplace_back(csv.string(), (folder / (name + ".parquet")).string());
    return files_.size() < kMostAtOnce && bytes_ < kMostBytesAtOnce ? Status() : write();
  }

  Status write() {
    if (files_.empty()) return {};
    DCMT_RETURN_IF_ERROR(csv_to_parquet(wanted_.python, files_));
    std::error_code ignored;
    for (const auto& [csv, parquet] : files_) fs::remove(csv, ignored);
    files_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  fs::path scratch_;
  const ParquetFolder& wanted_;
  std::vector<std::pair<std::string, std::string>> files_;
  std::uintmax_t bytes_ = 0;
};

Expected<bool> write_tables(std::vector<OpenedTrace> traces, const ParquetFolder& wanted) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return Error{ErrorCode::kIo, "no temporary folder can be made; TMPDIR names where."};
  const LongWork work(printable(wanted.folder), "writing");
  Tables tables(scratch, wanted);
  bool sums_only = false;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    OpenedTrace trace = std::move(traces[i]);  // closed after it is written
    const auto share = [&](double of) { return (static_cast<double>(i) + of) / static_cast<double>(traces.size()); };
    DCMT_ASSIGN_OR_RETURN(const analyzer::TraceData data,
                          analyzer::TraceData::load(trace.database, work.watch().part(share(0), share(0.5))));
    sums_only = sums_only || data.has_sums_only();
    for (const std::string& table : wanted.tables) {
      DCMT_RETURN_IF_ERROR(tables.add(trace, data, table, work.watch().part(share(0.5), share(1))));
    }
  }
  DCMT_RETURN_IF_ERROR(tables.write());
  return sums_only;
}

}  // namespace

Status check_pyarrow(const std::string& python) {
  const auto failure = failure_of(python, {"-I", "-c", "import pyarrow.csv, pyarrow.parquet"});
  if (!failure) return {};
  return {ErrorCode::kCannotRecord, python + " has no pyarrow (" + printable(*failure) +
                                        "). Install it there, name another Python with --python, or use --to csv."};
}

Status csv_to_parquet(const std::string& python, const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<std::string> arguments{"-I", (data_folder() / "csv_to_parquet.py").string()};
  for (const auto& [csv, parquet] : files) arguments.insert(arguments.end(), {csv, parquet});
  const auto failure = failure_of(python, arguments);
  if (!failure) return {};
  return {ErrorCode::kIo, printable(files.front().second) + ": " + python + " cannot write it: " + printable(*failure)};
}

Expected<bool> write_parquet_folder(std::vector<OpenedTrace> traces, const ParquetFolder& wanted) {
  std::error_code error;
  const bool there = fs::exists(wanted.folder, error);
  if (there && !fs::is_empty(wanted.folder, error)) {
    return Error{ErrorCode::kBadInput, printable(wanted.folder) + ": is not empty. Name a new or an empty folder."};
  }
  DCMT_RETURN_IF_ERROR(check_pyarrow(wanted.python));
  Expected<bool> written = write_tables(std::move(traces), wanted);
  if (!written.ok()) {
    for (const std::string& table : wanted.tables) fs::remove_all(fs::path(wanted.folder) / table, error);
    if (!there) fs::remove(wanted.folder, error);
  }
  return written;
}

}  // namespace dcmt::cli
