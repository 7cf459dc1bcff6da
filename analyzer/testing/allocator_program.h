// A program that allocates memory of a GPU, to run in the simulated allocator and to record.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/testing/simulated_allocator.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

class AllocatorProgram {
 public:
  struct Request {
    std::int64_t bytes = 0, line = 1, stream = 0, pool = 0;
    std::string holder = {};  ///< a list that has it at the end
  };

  /// Returns a number for free().
  std::size_t allocate(const Request& request) {
    steps_.push_back({request, requests_});
    return requests_++;
  }
  void free(std::size_t number) { steps_.push_back({{}, number, true}); }
  /// allocate() and free().
  void use(const Request& request) { free(allocate(request)); }

  struct Outcome {
    std::int64_t reserved = 0, allocated = 0;  ///< at most
  };
  /// @param change  of each request
  [[nodiscard]] Outcome run(const SimulatedSettings& settings, const std::function<void(Request&)>& change = {}) const {
    SimulatedAllocator allocator(settings);
    std::map<std::size_t, std::int64_t> addresses;
    for (const Step& step : steps_) {
      Request request = step.request;
      if (change) change(request);
      if (step.frees) {
        allocator.free(addresses.at(step.number));
      } else {
        addresses[step.number] = allocator.allocate(request.bytes, request.stream, request.pool);
      }
    }
    return {allocator.reserved_peak(), allocator.allocated_peak()};
  }

  /// A request at the end that has no success, and what the device has left then.
  struct Refused {
    std::int64_t bytes = 0, left = 0;
  };

  /// Records a run into a trace, and returns the trace's path. Without a holder a block has none.
  /// @param changes  SQL at the end
  std::string record(TestTrace& trace, const SimulatedSettings& settings, const std::string& text,
                     const std::optional<Refused>& refused = {}, const std::string& changes = {}) const {
    trace.gpu = 0;
    SimulatedAllocator allocator(settings);
    std::map<std::size_t, std::pair<std::int64_t, TestTrace::Handle>> blocks;
    std::string sql;
    std::int64_t segments = 0;
    std::map<std::string, int> entries;
    for (const Step& step : steps_) {
      if (step.frees) {
        const auto& [address, handle] = blocks.at(step.number);
        allocator.free(address);
        trace.drop(handle);
        continue;
      }
      const Request& of = step.request;
      const std::int64_t seq = trace.last_seq() + 1;
      const std::int64_t address = allocator.allocate(of.bytes, of.stream, of.pool);
      const std::int64_t bytes = allocator.bytes_of(address);
      trace.stack = {{"/home/user/train.py", "main", of.line}};
      trace.stream = of.stream;
      const TestTrace::Handle handle = trace.allocate(bytes);
      blocks[step.number] = {address, handle};
      for (const SimulatedAllocator::Part& part : allocator.reserved_parts()) {
        sql += "INSERT INTO segment(id, gpu, address, bytes, stream, expandable, from_seq, from_ns, pool) VALUES" +
               row({++segments, 0, part.address, part.bytes, part.stream, settings.expandable ? 1 : 0, seq, seq * 1000,
                    part.pool});
      }
      sql += "UPDATE block SET (address, rounding) = " + row({address, bytes - of.bytes});
      sql.back() = ' ';
      sql += "WHERE id = " + std::to_string(trace.storage_id(handle).value) + ";";
      if (!of.holder.empty()) {
        const std::string path = of.holder + "[" + std::to_string(entries[of.holder]++) + "]";
        trace.held(handle, {.containers = {of.holder}, .path = path});
      }
    }
    if (refused) {
      const std::string at = std::to_string(trace.last_seq() + 1);
      for (const std::int64_t address : allocator.give_back()) {
        sql += "UPDATE segment SET to_seq = " + at + ", to_ns = " + at +
               "000 WHERE address = " + std::to_string(address) + ";";
      }
      trace.out_of_memory({.requested = refused->bytes,
                           .allocated = allocator.allocated(),
                           .reserved = allocator.reserved(),
                           .free = refused->left,
                           .total = allocator.reserved() + refused->left});
      sql += "UPDATE oom SET gpu = 0;";
    }
    trace.allocator_peaks(allocator.allocated_peak(), allocator.reserved_peak());
    std::string path = trace.save();
    sql += "INSERT OR REPLACE INTO string(id, text) VALUES(90001, '" + text + "');" +
           "INSERT INTO allocator(id, gpu, seq, ns, settings) VALUES(1, 0, 1, 1000, 90001);" + changes;
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    EXPECT_TRUE(database.ok());
    const Status changed = database->execute("BEGIN;" + sql + "COMMIT;");
    EXPECT_TRUE(changed.ok()) << changed.error().message;
    return path;
  }

 private:
  struct Step {
    Request request;
    std::size_t number = 0;
    bool frees = false;
  };

  static std::string row(std::initializer_list<std::int64_t> values) {
    std::string text;
    for (const std::int64_t value : values) text += (text.empty() ? "(" : ", ") + std::to_string(value);
    return text + ");";
  }

  std::vector<Step> steps_;
  std::size_t requests_ = 0;
};

}  // namespace dcmt::testing
