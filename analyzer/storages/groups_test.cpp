#include "analyzer/storages/live_set.h"

#include <gtest/gtest.h>

#include <map>

#include "analyzer/storages/groups.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/time/curve.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Bytes by kind, of what is alive at the end.
std::map<std::string, std::int64_t> kinds(const std::string& path) {
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().message);
  std::map<std::string, std::int64_t> bytes;
  const auto live = live_blocks(*data, devices_of(*data).front(), last_sequence(*data));
  for (const Group& group : group_blocks(*data, PhaseIndex(*data), live, GroupBy::kKind, last_sequence(*data))) {
    bytes[group.name] = group.bytes.value;
  }
  return bytes;
}

void change(const std::string& path, const std::string& sql) {
  Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
  ASSERT_TRUE(database.ok() && database->execute(sql).ok()) << sql;
}

TEST(LiveSet, EveryBlockIsOfSomeKind) {
  TestTrace trace;
  trace.stack = {{"/home/user/model.py", "forward", 41}};
  trace.allocate(100'000);
  trace.gather(3, trace.allocate(200'000));
  trace.allocate(300'000);
  trace.op("aten::cudnn_convolution", [&] { trace.allocate(400'000); });
  trace.allocate(500);
  const std::string path = trace.save();
  change(path,
         "INSERT INTO string(id, text) VALUES(999, 'cuBLAS workspace');"
         "UPDATE block SET storage_back = NULL WHERE id IN (3, 4, 5); UPDATE block SET owner = 999 WHERE id = 3");
  const std::string unknown = "no tensor, allocated at user/model.py:41 forward";
  const std::string convolution = "cudnn_convolution workspace, user/model.py:41 forward";
  EXPECT_EQ(kinds(path), (std::map<std::string, std::int64_t>{{"tensor", 100'000},
                                                              {"gathered parameter", 200'000},
                                                              {"cuBLAS workspace", 300'000},
                                                              {convolution, 400'000},
                                                              {unknown, 500}}));
  change(path, "UPDATE meta SET value = 'lifetimes' WHERE key = 'detail'");
  EXPECT_EQ(kinds(path)["under 64 KiB, not followed"], 500);
}

}  // namespace
}  // namespace dcmt::analyzer
