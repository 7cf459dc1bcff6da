// A program of one file, built event by event. Only for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analyzer/testing/test_trace.h"

namespace dcmt::testing {

/// Its file, train.py, begins with `def main():`.
class SourceProgram {
 public:
  using Handle = TestTrace::Handle;

  /// All events from here on are at this line of main().
  void at(std::int64_t line, const StackOf& inside = {}) {
    trace.stack = inside;
    trace.stack.push_back({"train.py", "main", line});
  }
  Handle made_at(std::int64_t line, const StackOf& inside = {}) {
    at(line, inside);
    return trace.allocate(100);
  }
  void dropped_at(std::int64_t line, Handle handle) {
    at(line);
    trace.drop(handle);
  }
  const analyzer::TraceData& load(const std::string& code) {
    std::string quoted = code;
    for (std::size_t i = quoted.find('\''); i != std::string::npos; i = quoted.find('\'', i + 2)) quoted.insert(i, "'");
    std::filesystem::remove(trace.folder() / "rank0.dcmt");
    data = trace.load("INSERT INTO source(path, text) SELECT id, '" + quoted + "' FROM string WHERE text = 'train.py'");
    return data;
  }
  [[nodiscard]] const analyzer::Storage& storage(Handle handle) const {
    return *data.storages.find(trace.storage_id(handle));
  }
  [[nodiscard]] Sequence birth(Handle handle) const { return storage(handle).span.from_seq; }
  [[nodiscard]] Sequence end(Handle handle) const { return storage(handle).span.to_seq; }

  TestTrace trace;
  analyzer::TraceData data;
};

}  // namespace dcmt::testing
