// Changes of watched reference counts, for tests: in memory, and in a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

/// A frame of Python.
struct CodeAt {
  std::string_view function;
  std::int64_t line = 0;
  std::string_view file = "train.py";
};

/// Counts of one storage, change by change.
class WatchedStory {
 public:
  static constexpr StorageId kStorage{1};

  std::vector<CodeAt> python;            ///< of the changes from here on, outermost first
  std::vector<std::string_view> native;  ///< likewise, from the interpreter on
  ThreadId thread{0};

  void source(std::string_view code) { data.sources.push_back({data.intern("train.py"), std::string(code)}); }

  /// A count that begins to be watched.
  void count(analyzer::Subject subject, std::int64_t first) {
    analyzer::WatchedCount count;
    count.id = analyzer::WatchedCountId(++seq_);
    count.subject = subject;
    count.storage = kStorage;
    if (subject != analyzer::Subject::kStorage) count.tensor = TensorId(7);
    count.first = count.last = first;
    count.span.from_seq = Sequence(seq_);
    data.watched.counts.push_back(count);
  }
  /// The latest count changes.
  void change(std::int64_t step) {
    analyzer::WatchedCount& count = data.watched.counts.back();
    analyzer::CountChange change;
    change.seq = Sequence(++seq_);
    change.ns = TimeNs(seq_ * 1000);
    change.watched = count.id;
    change.before = count.last;
    change.after = count.last += step;
    change.by.thread = thread;
    std::vector<CodeAt> functions;
    for (const std::string_view name : native) functions.push_back({name, 0, "libtorch.so"});
    change.by.stack = stack(python);
    change.native = stack(functions);
    data.watched.changes.push_back(change);
  }
  void take(std::vector<CodeAt> at, std::vector<std::string_view> by = {}) {
    python = std::move(at);
    native = std::move(by);
    change(1);
  }
  void give_back(std::vector<CodeAt> at, std::vector<std::string_view> by = {}) {
    python = std::move(at);
    native = std::move(by);
    change(-1);
  }

  [[nodiscard]] analyzer::WatchedCount& last() { return data.watched.counts.back(); }

  analyzer::TraceData data;

 private:
  StackId stack(const std::vector<CodeAt>& frames) {
    StackId at;
    for (const CodeAt& frame : frames) at = stack(at, this->frame(frame));
    return at;
  }
  StackId stack(StackId parent, FrameId frame) {
    for (const analyzer::Stack& each : data.stacks) {
      if (each.parent == parent && each.frame == frame) return each.id;
    }
    data.stacks.push_back({StackId(static_cast<std::int32_t>(data.stacks.size()) + 1), parent, frame});
    return StackId(static_cast<std::int32_t>(data.stacks.size()));
  }
  FrameId frame(const CodeAt& at) {
    const StringId file = data.intern(at.file), function = data.intern(at.function);
    for (const analyzer::Frame& each : data.frames) {
      if (each.file == file && each.function == function && each.line == at.line) return each.id;
    }
    data.frames.push_back({FrameId(static_cast<std::int32_t>(data.frames.size()) + 1), file, function, at.line});
    return FrameId(static_cast<std::int32_t>(data.frames.size()));
  }

  std::int64_t seq_ = 0;
};

/// Adds two counts of storage 1 to a finished trace: one whose reference a return gives back, and one with a reference
/// that is left.
inline Status add_watched_counts(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  return database.execute(
      "INSERT INTO string(id, text) VALUES(9501, '/repo/watched.py'), (9502, 'call'), (9503, 'main'),"
      " (9504, '_PyFrame_Clear'), (9505, 'libtorch_python.so'), (9506, 'THPVariable_Wrap');"
      "INSERT INTO source(path, text) VALUES(9501, 'def call():\n    buf0 = gather()\n\ncall()\n');"
      "INSERT INTO frame(id, file, function, line) VALUES(9501, 9501, 9503, 4), (9502, 9501, 9502, 2),"
      " (9503, 9505, 9504, 0), (9504, 9505, 9506, 0);"
      "INSERT INTO stack(id, parent, frame) VALUES(9501, NULL, 9501), (9502, 9501, 9502), (9503, NULL, 9503),"
      " (9504, NULL, 9504);"
      "INSERT INTO watched_count(id, subject, storage, tensor, how, first, last, changes, lost, ended, from_seq, "
      "from_ns,"
      " to_seq, to_ns) VALUES(1, 'storage', 1, NULL, 'watchpoint', 1, 1, 0, 0, 0, 1, 1000, NULL, NULL),"
      " (2, 'object', 1, 1, 'watchpoint', 0, 0, 2, 0, 1, 2, 2000, 5, 5000);"
      "INSERT INTO count_change(id, ns, watched, before, after, thread, operator, stack, native) VALUES"
      " (3, 3000, 2, 0, 1, 0, NULL, 9502, 9504), (4, 4000, 2, 1, 0, 0, NULL, 9501, 9503);");
}

}  // namespace dcmt::testing
