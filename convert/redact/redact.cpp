#include "convert/redact/redact.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/storages/origins.h"
#include "convert/copy/copy_rows.h"
#include "convert/redact/names.h"
#include "convert/redact/shipped_origins.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/schema.h"
#include "trace/sql/trace_file.h"
#include "trace/tables/texts.h"

namespace dcmt::convert {
namespace {

/// Tables that are copied row by row. Copied files are left out.
bool is_copied(const DeclaredTable& table) {
  const std::string_view name = table.table.name;
  return !table.table.at_finish && name != MetaRow::kTable.name && name != StringRow::kTable.name &&
         name != SourceRow::kTable.name;
}

// Queries for texts of source code, by the columns that refer to them.
constexpr const char* kSourceLines[] = {"SELECT assignment FROM edge WHERE assignment IS NOT NULL",
                                        "SELECT model_text FROM edge WHERE model_text IS NOT NULL",
                                        "SELECT model_text FROM source_line WHERE model_text IS NOT NULL",
                                        "SELECT stack_text FROM source_line"};

constexpr std::string_view kNumbersOfMeta[] = {
    meta::kRank,          meta::kWorldSize,     meta::kStartNs,  meta::kEndNs,        meta::kClockErrorNs,
    meta::kClockReadings, meta::kLastSeq,       meta::kRecords,  meta::kUnseenBirths, meta::kLostDeaths,
    meta::kUnseenChanges, meta::kRecorderCpuNs, meta::kFirstSeq, meta::kCgroupLimit,  meta::kCgroupKills};
constexpr std::string_view kWordsOfMeta[] = {"recording", "finished",  "recovered", "lifetimes",
                                             "full",      "operators", "snapshot"};

/// "2.11.0" of "2.11.0+cu130": the suffix may reveal more.
std::string_view version_of(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
}

bool is_exit(std::string_view text) {
  for (const std::string_view known : {"exit unseen", "unknown", "exec", "still running", "unseen"}) {
    if (text == known) return true;
  }
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  return (word == "exit" || word == "signal") && text.size() < space + 5 &&
         text.find_first_not_of("0123456789", space + 1) == std::string_view::npos;
}

/// A pattern that matches only this text.
std::string pattern_of(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

class Redaction {
 public:
  Redaction(Database& source, Database& copy, const analyzer::Watch& watch)
      : source_(source), copy_(copy), watch_(watch) {}

  Status run() {
    DCMT_RETURN_IF_ERROR(source_.execute("BEGIN"));
    const Status copied = copy_all();
    static_cast<void>(source_.execute("ROLLBACK"));
    return copied;
  }

 private:
  Status copy_all() {
    DCMT_RETURN_IF_ERROR(copy_.execute("BEGIN"));
    DCMT_RETURN_IF_ERROR(copy_meta());
    DCMT_RETURN_IF_ERROR(copy_strings());
    DCMT_RETURN_IF_ERROR(copy_origins());
    const std::vector<DeclaredTable> tables = declared_tables();
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (is_copied(tables[i])) DCMT_RETURN_IF_ERROR(copy_table(tables[i]));
      watch_.done(static_cast<double>(i + 1) / static_cast<double>(tables.size()));
    }
    return copy_.execute("COMMIT");
  }

  Status copy_meta() {
    DCMT_ASSIGN_OR_RETURN(Statement insert, copy_.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"));
    const auto put = [&](std::string_view key, auto value) {
      insert.bind(1, key);
      insert.bind(2, value);
      return insert.run();
    };
    DCMT_ASSIGN_OR_RETURN(Statement row, source_.prepare("SELECT key, value FROM meta"));
    while (true) {
      DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
      if (!more) break;
      const std::string key(row.text(0));
      const std::string text(row.text(1));
      if (std::ranges::find(kNumbersOfMeta, key) != std::end(kNumbersOfMeta)) {
        DCMT_RETURN_IF_ERROR(put(key, row.integer(1)));
      } else if (key == meta::kToolVersion || key == meta::kTorch || key == meta::kPython) {
        DCMT_RETURN_IF_ERROR(put(key, version_of(text)));
      } else if (key == meta::kStacks && text == meta::kCppStacks) {
        DCMT_RETURN_IF_ERROR(put(key, std::string_view(text)));
      } else if (std::ranges::find(kWordsOfMeta, text) != std::end(kWordsOfMeta) ||
                 (key == meta::kExit && is_exit(text))) {
        if (key == meta::kState || key == meta::kDetail || key == meta::kExit)
          DCMT_RETURN_IF_ERROR(put(key, std::string_view(text)));
      }
    }
    for (const char* gone : {meta::kPid, meta::kStartRealNs, meta::kRealOffsetNs}) {
      DCMT_RETURN_IF_ERROR(put(gone, std::int64_t{0}));
    }
    return put(meta::kCommand, std::string_view());
  }

  Status copy_strings() {
    std::unordered_set<std::int64_t> lines;
    for (const char* sql : kSourceLines) {
      DCMT_RETURN_IF_ERROR(each_row(source_, sql, [&](const Statement& row) { lines.insert(row.integer(0)); }));
    }
    // The text of a diagnostic may name anything; its code is a word of this tool.
    std::unordered_map<std::int64_t, std::string> diagnostics;
    DCMT_RETURN_IF_ERROR(each_row(source_, "SELECT text, code FROM diagnostic", [&](const Statement& row) {
      const std::string_view code = is_word_of_traces(row.text(1)) ? row.text(1) : std::string_view("other");
      diagnostics.emplace(row.integer(0), "left out of the copy: " + std::string(code));
    }));
    DCMT_ASSIGN_OR_RETURN(Statement row, source_.prepare("SELECT id, text FROM string ORDER BY id"));
    DCMT_ASSIGN_OR_RETURN(Statement insert, copy_.prepare("INSERT INTO string(id, text) VALUES(?, ?)"));
    while (true) {
      DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
      if (!more) return {};
      const std::int64_t id = row.integer(0);
      const std::string text(row.text(1));
      const auto diagnostic = diagnostics.find(id);
      insert.bind(1, id);
      insert.bind(2, std::string_view(diagnostic != diagnostics.end() ? diagnostic->second
                                      : lines.contains(id)            ? names_.replaced(text)
                                                                      : names_.without_names(text)));
      DCMT_RETURN_IF_ERROR(insert.run());
    }
  }

  /// The rows name files, functions and operators. The copy's rows name each matching frame and operator, with the
  /// names of the copy.
  Status copy_origins() {
    DCMT_ASSIGN_OR_RETURN(const std::string origins, meta_text(source_, meta::kOrigins));
    const std::vector<analyzer::OriginRow> rows = analyzer::origin_rows(origins);
    std::string text;
    const auto add = [&](const analyzer::OriginRow& row, const std::string& about) {
      text += (is_shipped_origin(row.origin) ? row.origin : names_.without_names(row.origin)) + "\t" + about + "\t" +
              (row.purpose == "trial" ? row.purpose : "") + "\n";
    };
    constexpr char kFrames[] =
        "SELECT DISTINCT path.text, name.text FROM frame JOIN string AS path ON path.id = frame.file"
        " LEFT JOIN string AS name ON name.id = frame.function";
    DCMT_RETURN_IF_ERROR(each_row(source_, kFrames, [&](const Statement& frame) {
      const auto named = std::ranges::find_if(
          rows, [&](const analyzer::OriginRow& row) { return row.names_frame(frame.text(0), frame.text(1)); });
      if (named == rows.end()) return;
      add(*named, "\t" + names_.without_names(frame.text(0)) + "\t" + pattern_of(names_.without_names(frame.text(1))));
    }));
    constexpr char kOperators[] = "SELECT DISTINCT text FROM mark JOIN string ON string.id = mark.name";
    DCMT_RETURN_IF_ERROR(each_row(source_, kOperators, [&](const Statement& mark) {
      const auto named =
          std::ranges::find_if(rows, [&](const analyzer::OriginRow& row) { return row.names_operator(mark.text(0)); });
      if (named != rows.end()) add(*named, pattern_of(names_.without_names(mark.text(0))) + "\t\t");
    }));
    if (text.empty()) return {};
    DCMT_ASSIGN_OR_RETURN(Statement insert, copy_.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"));
    insert.bind(1, std::string_view(meta::kOrigins));
    insert.bind(2, std::string_view(text));
    return insert.run();
  }

  Status copy_table(const DeclaredTable& table) {
    const RowCopy how{
        .text = [](std::string_view text) { return is_word_of_traces(text) ? text : std::string_view("other"); },
        // A number, even if the file has a text: texts of other columns are no names of the string table.
        .number = [](const StoredColumn& column, std::int64_t number) { return column.name == "tid" ? 0 : number; }};
    return copy_rows(source_, copy_, table, how, watch_);
  }

  Database& source_;
  Database& copy_;
  const analyzer::Watch& watch_;
  Names names_;
};

}  // namespace

Status write_redacted(Database& source, const std::string& path, const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(Database copy, create_trace(path));
  DCMT_RETURN_IF_ERROR(Redaction(source, copy, watch).run());
  return finish_trace(copy);
}

}  // namespace dcmt::convert
