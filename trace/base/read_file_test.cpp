#include "trace/base/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace dcmt {
namespace {

TEST(ReadFile, WholeContent) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "dcmt_read_file_test";
  const std::string content = std::string(100'000, 'a') + '\0' + "end";
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(read_file(path), content);
  std::filesystem::remove(path);
}

TEST(ReadFile, FileOfProcHasNoSizeBeforehand) {
  const std::optional<std::string> stat = read_file("/proc/self/stat");
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->starts_with(std::to_string(getpid()) + " ("));
}

TEST(ReadFile, MissingFileHasNoContent) {
  EXPECT_EQ(read_file("/nonexistent"), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
}

TEST(ReadFile, FileThatOpensAndCannotBeReadHasNoContent) {
  EXPECT_EQ(read_file("/proc"), std::nullopt) << "a directory opens, and reading it fails";
  EXPECT_EQ(errno, EISDIR);
}

}  // namespace
}  // namespace dcmt
