#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/converted.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/long_work.h"
#include "cli/new_file.h"
#include "cli/parquet.h"
#include "cli/parser.h"
#include "cli/text.h"
#include "convert/perfetto/perfetto.h"
#include "convert/redact/redact.h"
#include "convert/snapshot/snapshot_trace.h"
#include "convert/snapshot/write_snapshot.h"
#include "convert/tables/csv.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

struct ConvertOptions {
  std::string input = kLastRun, to, output, python = "python3";
  std::optional<std::string> table;  ///< of those that have tables; lifetimes

  [[nodiscard]] bool has_tables() const { return to == "csv" || to == "parquet"; }
  bool force = false, redact = false, json = false;
};

/// A trace whose rows are read. Findings are not computed.
struct Source {
  OpenedTrace trace;
  analyzer::TraceData data;
};

Expected<OpenedTrace> open_one(const std::string& input) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces({input}, std::nullopt));
  if (opened.size() != 1) {
    return Error{ErrorCode::kUsage,
                 printable(input) + ": has several traces. Name one of them, as " + opened[0].path + "."};
  }
  return std::move(opened[0]);
}

Expected<Source> read_source(const std::string& input, const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(OpenedTrace trace, open_one(input));
  DCMT_ASSIGN_OR_RETURN(analyzer::TraceData data, analyzer::TraceData::load(trace.database, watch));
  return Source{std::move(trace), std::move(data)};
}

/// Prints on standard error what the file lacks.
void say_sums_only(const std::string& path) {
  print_note(
      printable(path) +
      ": of some steps the trace has sums only; their blocks are not written, but their peaks are in the curve.");
}

using Write = Status (*)(Source&, const ConvertOptions&, std::ostream&, const analyzer::Watch&);

Status snapshot(Source& source, const ConvertOptions& /*options*/, std::ostream& out, const analyzer::Watch& watch) {
  return convert::write_snapshot(source.data, out, watch);
}
Status perfetto(Source& source, const ConvertOptions& /*options*/, std::ostream& out, const analyzer::Watch& watch) {
  return convert::write_perfetto(source.data, source.trace.database, out, watch);
}
Status csv(Source& source, const ConvertOptions& options, std::ostream& out, const analyzer::Watch& watch) {
  return options.table == "curve" ? convert::write_curve_csv(source.data, out, watch)
                                  : convert::write_lifetimes_csv(source.data, out, watch);
}

Status write_stream(const ConvertOptions& options, const std::string& path, Write write, Converted& converted) {
  Expected<Source> source = [&] {
    const LongWork work(printable(options.input));
    return read_source(options.input, work.watch());
  }();
  if (!source.ok()) return source.error();
  converted.sums_only = source->data.has_sums_only();
  if (converted.sums_only) say_sums_only(source->data.path);
  const LongWork work(printable(options.output), "writing");
  std::ofstream out(path, std::ios::binary);
  DCMT_RETURN_IF_ERROR(write(*source, options, out, work.watch()));
  out.close();
  if (!out) return {ErrorCode::kIo, printable(options.output) + ": cannot be written: is the disk full?"};
  return {};
}

/// Converts the CSV.
Status write_parquet(const ConvertOptions& options, const std::string& path, Converted& converted) {
  const ScratchFolder folder;
  if (folder.path().empty()) return {ErrorCode::kIo, "no temporary folder can be made; TMPDIR names where."};
  const std::string table = (folder.path() / "table.csv").string();
  DCMT_RETURN_IF_ERROR(check_pyarrow(options.python));
  DCMT_RETURN_IF_ERROR(write_stream(options, table, csv, converted));
  return csv_to_parquet(options.python, {{table, path}});
}

/// Writes a copy without names, or a trace of a memory snapshot.
Status write_trace(const ConvertOptions& options, const std::string& path) {
  if (options.redact) {
    DCMT_ASSIGN_OR_RETURN(OpenedTrace trace, open_one(options.input));
    const LongWork work(printable(options.output), "writing");
    return convert::write_redacted(trace.database, path, work.watch());
  }
  if (!convert::is_pickle(options.input)) {
    // Only this error says why the input cannot be read.
    DCMT_RETURN_IF_ERROR(open_one(options.input).status());
    return {ErrorCode::kUsage,
            printable(options.input) +
                ": is no memory snapshot of torch, which can become a trace. A copy of a trace without "
                "names: --redact."};
  }
  const LongWork work(printable(options.input));
  DCMT_ASSIGN_OR_RETURN(const convert::MemorySnapshot read, convert::read_snapshot(options.input));
  return convert::write_snapshot_trace(read, path, work.watch());
}

Status write_as_asked(const ConvertOptions& options, const std::string& path, Converted& converted) {
  if (options.to == "trace") return write_trace(options, path);
  if (options.to == "parquet") return write_parquet(options, path, converted);
  const Write write = options.to == "csv" ? csv : options.to == "perfetto" ? perfetto : snapshot;
  return write_stream(options, path, write, converted);
}

bool has_several_traces(const std::string& input) {
  const Expected<std::string> path = run_named(input);
  std::error_code ignored;
  if (!path.ok() || !std::filesystem::is_directory(*path, ignored)) return false;
  const Expected<std::vector<std::string>> files = trace_files_in(*path);
  return files.ok() && files->size() > 1;
}

/// Converts all traces of a folder to Parquet, by rank.
Status convert_folder(const ConvertOptions& options, Converted& converted) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces({options.input}, std::nullopt));
  ParquetFolder wanted{options.output, {"lifetimes", "curve"}, options.python};
  if (options.table) wanted.tables = {*options.table};
  converted.table = options.table;
  DCMT_ASSIGN_OR_RETURN(converted.sums_only, write_parquet_folder(std::move(opened), wanted));
  if (converted.sums_only) say_sums_only(options.input);
  std::error_code ignored;
  for (const auto& each : std::filesystem::recursive_directory_iterator(options.output, ignored)) {
    if (each.is_regular_file(ignored)) converted.bytes.value += static_cast<std::int64_t>(each.file_size(ignored));
  }
  return {};
}

Status convert_file(const ConvertOptions& options, Converted& converted) {
  if (options.redact && options.to != "trace") {
    return {ErrorCode::kUsage,
            "--redact makes a copy of a trace: use it with --to trace, and convert that copy further."};
  }
  if (options.table && !options.has_tables()) {
    return {ErrorCode::kUsage, "--table is of csv and parquet: " + options.to + " has no tables."};
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored)) {
    return {ErrorCode::kUsage, printable(options.output) + ": is the file that is read. Choose another name."};
  }
  if (options.to == "parquet" && has_several_traces(options.input)) return convert_folder(options, converted);
  NewFile file(options.output);
  DCMT_RETURN_IF_ERROR(file.check(options.force));
  DCMT_RETURN_IF_ERROR(write_as_asked(options, file.part(), converted));
  converted.bytes = Bytes(static_cast<std::int64_t>(std::filesystem::file_size(file.part(), ignored)));
  return file.keep();
}

int run_convert(const ConvertOptions& options) {
  Converted converted{printable(options.input), printable(options.output), options.to, {}, options.redact};
  if (options.has_tables()) converted.table = options.table.value_or("lifetimes");
  if (const Status done = convert_file(options, converted); !done.ok()) return print_error(done.error());
  if (options.json) std::cout << JsonDocument("convert").with(converted);
  return kExitOk;
}

}  // namespace

void add_convert_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("convert", "Other formats: memory snapshots of torch, Perfetto, CSV, Parquet");
  auto options = std::make_shared<ConvertOptions>();
  command
      .add_option(
          "FILE", options->input,
          "A trace (*.dcmt), or a memory snapshot of torch (a pickle); of parquet, also a folder of several traces; "
          "last: the newest run")
      .capture_default_str();
  command
      .add_option("--to", options->to,
                  "What to write: snapshot (for torch's memory_viz), perfetto, csv, parquet (with a Python that has "
                  "pyarrow), trace (of a memory "
                  "snapshot, or with --redact)")
      .required()
      .one_of({"snapshot", "perfetto", "csv", "parquet", "trace"});
  command.add_option("-o,--output", options->output, "The file to write; of a folder of several traces, a folder")
      .required();
  command
      .add_option("--table", options->table,
                  "Of csv and parquet: lifetimes (one row a block) or curve; of a folder, both")
      .one_of({"lifetimes", "curve"})
      .default_str("lifetimes");
  command.add_option("--python", options->python, "Of parquet: a Python that has pyarrow").capture_default_str();
  command.add_flag("--redact", options->redact,
                   "Of --to trace: a copy without paths, names, source lines and arguments, for a public issue");
  command.add_flag("--force", options->force, "Replace the file if it is there");
  command.add_flag("--json", options->json, "Say what was written, machine-readable (docs/json.md)");
  command.footer(
      "Examples:\n"
      "  dc-memtrace convert out/rank0.dcmt --to snapshot -o rank0.pickle   for pytorch.org/memory_viz\n"
      "  dc-memtrace convert out/rank0.dcmt --to perfetto -o rank0.json     for ui.perfetto.dev\n"
      "  dc-memtrace convert out/rank0.dcmt --to csv -o lifetimes.csv       one row for each block\n"
      "  dc-memtrace convert out/ --to parquet -o tables                    every rank, for DuckDB and the like\n"
      "  dc-memtrace convert snapshot.pickle --to trace -o snapshot.dcmt    what torch dumped, as a trace\n"
      "  dc-memtrace convert out/rank0.dcmt --to trace --redact -o copy.dcmt   for a public issue");
  command.callback([options, &exit_code] { exit_code = run_convert(*options); });
}

}  // namespace dcmt::cli
