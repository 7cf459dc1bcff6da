// The findings of a program that does nothing of note with torch, for tests of what is sampled beside it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"
#include "trace/base/status.h"
#include "trace/sql/trace_file.h"

namespace dcmt::testing {

/// @param add  adds samples to the finished trace at a path
inline std::vector<analyzer::Finding> findings_of_steps(int steps,
                                                        const std::function<Status(const std::string& path)>& add) {
  TestTrace trace;
  for (int step = 0; step < steps; ++step) {
    trace.drop(trace.allocate(100));
    trace.step(step);
  }
  const std::string path = trace.save();
  const Status added = add(path);
  EXPECT_TRUE(added.ok()) << added.error().message;
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  const Expected<analyzer::TraceData> data = analyzer::TraceData::load(*database);
  EXPECT_TRUE(data.ok()) << data.error().message;
  return std::move(analyzer::analyze(*data).findings);
}

}  // namespace dcmt::testing
