#include "collector/recorder/folder/local_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "trace/base/scratch_folder.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

class LocalFolderTest : public ::testing::Test {
 protected:
  /// The folders with `scratch`, which must be possible.
  [[nodiscard]] TraceFolders folders(const std::string& scratch) const {
    const Expected<TraceFolders> made = trace_folders(output(), scratch);
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : TraceFolders{};
  }
  [[nodiscard]] std::string output() const { return temporary_.path().string(); }

  ScratchFolder temporary_;
};

TEST_F(LocalFolderTest, WithoutAWishALocalFolderIsWrittenToAtOnce) {
  const TraceFolders made = folders("");
  EXPECT_EQ(made.local, output());
  EXPECT_FALSE(made.moves());
}

TEST_F(LocalFolderTest, TheFolderIsPrivateAndLeadsToTheOutput) {
  const TraceFolders made = folders(output() + "/");
  EXPECT_TRUE(made.moves());
  EXPECT_EQ(fs::path(made.local).parent_path(), output());
  EXPECT_EQ(fs::status(made.local).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(check_local_folder(made.local).ok());
  EXPECT_EQ(output_folder_of(made.local), output());
  EXPECT_EQ(output_folder_of(output()), output());
}

TEST_F(LocalFolderTest, AScratchThatCannotHaveAFolderIsAnError) {
  const Expected<TraceFolders> made = trace_folders(output(), "/proc/no/such");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("/proc/no/such"), std::string::npos);
  EXPECT_NE(made.error().message.find("--scratch"), std::string::npos);
}

TEST_F(LocalFolderTest, OnlyAnEmptyFolderIsRemoved) {
  const TraceFolders made = folders(output());
  std::ofstream(made.local + "/rank0.dcmt") << "rows";
  remove_local_folder(made.local);
  EXPECT_TRUE(fs::exists(made.local + "/rank0.dcmt"));
  fs::remove(made.local + "/rank0.dcmt");
  remove_local_folder(made.local);
  EXPECT_FALSE(fs::exists(made.local));
  EXPECT_TRUE(fs::exists(output()));
}

TEST_F(LocalFolderTest, AFolderThatNoRunMakesIsRefused) {
  const std::string own = folders(output()).local;
  const std::string open = folders(output()).local;
  fs::permissions(open, fs::perms::group_read, fs::perm_options::add);
  const std::string link = output() + "/dc-memtrace-abcdef";
  fs::create_directory_symlink(own, link);
  for (const std::string& folder : {output(), open, link, std::string("dc-memtrace-abcdef"), own + "/", own + "/../x",
                                    output() + "/dc-memtrace-abcde/", std::string("/")}) {
    EXPECT_FALSE(check_local_folder(folder).ok()) << folder;
    remove_local_folder(folder);
  }
  EXPECT_TRUE(fs::exists(own) && fs::exists(open));
  EXPECT_TRUE(check_local_folder(output() + "/dc-memtrace-gone00").ok());
}

}  // namespace
}  // namespace dcmt::recorder
