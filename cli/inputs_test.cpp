// Tests which traces a folder stands for.
#include "cli/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/testing/test_trace.h"
#include "collector/recorder/job/local_folder.h"
#include "collector/recorder/job/run_folder.h"

namespace dcmt::cli {
namespace {

using Files = std::vector<std::string>;

TEST(TraceFiles, OfARunThatIsGoingOnAreThoseOfItsLocalFolderToo) {
  dcmt::testing::TestTrace trace;
  const std::string output = (trace.folder() / "output").string();
  std::filesystem::create_directory(output);
  const auto folders = recorder::trace_folders(output, trace.folder().string());
  ASSERT_TRUE(folders.ok());
  recorder::RunState run;
  run.local_folder = folders->local;
  run.host = recorder::this_host();
  run.boot = recorder::this_boot();
  run.state = "recording";
  run.traces = {{"first", "rank0.dcmt"}, {"second", "rank1.dcmt"}};
  ASSERT_TRUE(recorder::create_run(output, run).ok());
  EXPECT_EQ(*trace_files_in(output), Files{});

  const std::string first = output + "/rank0.dcmt";
  const std::string second = folders->local + "/rank1.dcmt";
  std::filesystem::rename(trace.save(), first);
  std::filesystem::rename(trace.save(), second);
  EXPECT_EQ(*trace_files_in(output), (Files{first, second}));

  run.host = "node7";
  ASSERT_TRUE(recorder::save_run(output, run).ok());
  EXPECT_EQ(*trace_files_in(output), Files{first}) << "what is on another machine cannot be opened";
}

TEST(TraceFiles, OfAFolderThatCannotBeReadAreAnError) {
  EXPECT_EQ(trace_files_in("/nowhere").error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace dcmt::cli
