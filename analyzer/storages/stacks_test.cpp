#include "analyzer/storages/stacks.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

constexpr const char* kModel = "/usr/lib/python3/site-packages/transformers/gpt2/modeling_gpt2.py";
constexpr const char* kTorch = "/usr/lib/python3/site-packages/torch/nn/modules/linear.py";

/// The line that called a package, of a storage with this stack, the innermost frame first; empty: there is none.
std::string caller(testing::StackOf stack) {
  TestTrace trace;
  trace.stack = std::move(stack);
  trace.allocate(100'000);
  Expected<Database> database = open_trace(trace.save());
  EXPECT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  EXPECT_TRUE(data.ok());
  const FrameId frame = caller_of_package(*data, (*data->blocks.begin()).birth.stack);
  return frame.valid() ? describe_frame(*data, frame) : "";
}

TEST(CallerOfPackage, TheInnermostLineOfThePersonsFiles) {
  EXPECT_EQ(caller({{kTorch, "forward", 1},
                    {kModel, "forward", 695},
                    {"/home/user/train.py", "loss", 33},
                    {"/home/user/run.py", "main", 4}}),
            "user/train.py:33 loss");
}

TEST(CallerOfPackage, NoneWhereTheSiteIsSuchALine) {
  EXPECT_EQ(caller({{kTorch, "forward", 1}, {"/home/user/train.py", "loss", 33}}), "");
}

TEST(CallerOfPackage, NoneWhereAPackageRunsByItself) { EXPECT_EQ(caller({{kModel, "forward", 695}}), ""); }

}  // namespace
}  // namespace dcmt::analyzer
