// Tests that record hand-made records with an Assembler into a trace of their own, and read the trace.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/assembler.h"
#include "collector/recorder/testing/test_stream.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder::testing {

constexpr ClockOrigin kOrigin{1'000'000'000, 0, 0};

using Rows = std::vector<std::string>;

/// All rows of a query, columns separated by '|', NULL as '-'.
inline Rows rows(Database& database, const std::string& sql) {
  Rows result;
  Expected<Statement> query = database.prepare(sql);
  EXPECT_TRUE(query.ok()) << query.error().message;
  if (!query.ok()) return result;
  while (true) {
    Expected<bool> more = query->step();
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !*more) return result;
    std::string line;
    for (int column = 0; column < query->column_count(); ++column) {
      if (column > 0) line += '|';
      line += query->is_null(column) ? "-" : std::string(query->text(column));
    }
    result.push_back(line);
  }
}

/// Two places of a program: the stack 0x51 at line 12 of train.py, 0x52 at line 13.
inline void two_places(TestStream& s) {
  s.named_thread(100, "python");
  s.code(0xC0, "/home/u/train.py", "main");
  s.stack(0x51, {{0xC0, 0, 12}});
  s.stack(0x52, {{0xC0, 0, 13}});
}

/// SQL for the line of a stack, and for the name of an operator, whose ids are in these columns.
inline std::string line(const std::string& column) {
  return "(SELECT f.line FROM stack k JOIN frame f ON f.id = k.frame WHERE k.id = " + column + ")";
}
inline std::string op(const std::string& column) {
  return "(SELECT text FROM operator o JOIN string ON string.id = o.name WHERE o.id = " + column + ")";
}

/// Formats numbers and texts like rows().
template <class... Parts>
std::string row(const Parts&... parts) {
  std::ostringstream text;
  const char* separator = "";
  static_cast<void>(((text << separator << parts, separator = "|"), ...));
  return text.str();
}

class AssemblerFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_assembler_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().message; }

  /// An unfinished recording.
  struct Recording {
    std::unique_ptr<TraceWriter> writer;
    std::unique_ptr<Assembler> assembler;
    std::size_t applied = 0;

    /// Applies what was added to the stream since the last call.
    void apply(const TestStream& stream) {
      for (; applied < stream.records.size(); ++applied) {
        const TestRecord& record = stream.records[applied];
        check(assembler->apply(record.header(), record.thread));
      }
    }
    Database& database() { return writer->database(); }
  };
  Recording start(const RetentionOptions& retention = {}) {
    Expected<Database> database = create_trace(path("t" + std::to_string(files_++)));
    EXPECT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    EXPECT_TRUE(writer.ok());
    Recording recording{std::make_unique<TraceWriter>(std::move(*writer)), nullptr};
    Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*recording.writer, kOrigin, retention);
    EXPECT_TRUE(assembler.ok());
    recording.assembler = std::move(*assembler);
    return recording;
  }

  /// Records the stream, with a commit after every record if requested, and finishes.
  Database record(const TestStream& stream, bool commit_each = false) {
    Recording recording = start();
    for (const TestRecord& r : stream.records) {
      check(recording.assembler->apply(r.header(), r.thread));
      if (commit_each) check(recording.assembler->commit("x"));
    }
    check(recording.assembler->finish());
    totals_ = recording.assembler->totals();
    growing_ = recording.assembler->readings().growing().goes_on;
    check(finish_trace(recording.database()));
    recording.assembler.reset();
    return std::move(recording.database());
  }

  std::filesystem::path folder_;
  int files_ = 0;
  Totals totals_;
  std::int64_t growing_ = 0;
};

/// A test with one recording, which has begun.
class RecordingFixture : public AssemblerFixture {
 protected:
  void SetUp() override {
    AssemblerFixture::SetUp();
    begin({});
  }
  void TearDown() override {
    recording_.reset();
    AssemblerFixture::TearDown();
  }
  /// Begins another one in its place.
  void begin(const RetentionOptions& retention) {
    recording_.reset();
    recording_.emplace(start(retention));
  }
  void apply(const TestStream& stream) { recording_->apply(stream); }
  Assembler& assembler() { return *recording_->assembler; }
  Database& database() { return recording_->database(); }

 private:
  std::optional<Recording> recording_;
};

/// Everything that a reader can see.
inline std::string dump(Database& database) {
  std::string text;
  for (const char* table :
       {"string",   "thread",         "frame",   "stack", "operator", "block",       "storage",    "tensor",
        "mark",     "launches",       "sample",  "edge",  "source",   "source_line", "diagnostic", "loss",
        "interval", "interval_curve", "key_sum", "meta",  "oom",      "parameter",   "segment"}) {
    text += std::string(table) + "\n";
    for (const std::string& row : rows(database, std::string("SELECT * FROM ") + table + " ORDER BY 1, 2")) {
      text += row + "\n";
    }
  }
  return text;
}

}  // namespace dcmt::recorder::testing
