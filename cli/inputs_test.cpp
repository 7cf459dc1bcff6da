// Tests which traces a folder stands for.
#include "cli/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/testing/test_trace.h"
#include "render/load/testing.h"

namespace dcmt::cli {
namespace {

using Files = std::vector<std::string>;

TEST(TraceFiles, OfARunThatIsGoingOnAreThoseOfItsLocalFolderToo) {
  dcmt::testing::TestTrace trace;
  load::LocalRun run(trace.folder() / "output", {"rank0.dcmt", "rank1.dcmt"});
  EXPECT_EQ(*trace_files_in(run.output), Files{});

  const std::string first = run.output_path("rank0.dcmt");
  const std::string second = run.local_path("rank1.dcmt");
  std::filesystem::rename(trace.save(), first);
  std::filesystem::rename(trace.save(), second);
  EXPECT_EQ(*trace_files_in(run.output), (Files{first, second}));

  run.state.host = "node7";
  run.save();
  EXPECT_EQ(*trace_files_in(run.output), Files{first}) << "what is on another machine cannot be opened";
}

TEST(TraceFiles, OfAFolderThatCannotBeReadAreAnError) {
  EXPECT_EQ(trace_files_in("/nowhere").error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace dcmt::cli
