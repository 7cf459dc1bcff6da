#include "collector/recorder/target/cgroup_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/base/read_file.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// The group of this process below `root`, by the kernel's name; and whether it is version 1.
std::pair<fs::path, bool> own_group(const fs::path& root) {
  const std::string lines = read_file("/proc/self/cgroup").value_or("");
  const std::size_t v1 = lines.find(":memory:");
  const std::size_t at = v1 != std::string::npos ? v1 + 8 : lines.find("0::") + 3;
  const std::string path = lines.substr(at, lines.find('\n', at) - at);
  return {(v1 != std::string::npos ? root / "memory" : root).string() + path, v1 != std::string::npos};
}

TEST(CgroupMemory, TheLeastLimitOfTheGroupsAroundCounts) {
  const ScratchFolder root;
  const auto [group, is_v1] = own_group(root.path().string());
  const fs::path mount = is_v1 ? fs::path(root.path().string()) / "memory" : fs::path(root.path().string());
  const char* const limit = is_v1 ? "memory.limit_in_bytes" : "memory.max";
  const char* const used = is_v1 ? "memory.usage_in_bytes" : "memory.current";
  write_text(mount / limit, is_v1 ? "9223372036854771712\n" : "max\n");
  write_text(mount / used, "900\n");
  EXPECT_FALSE(CgroupMemory::of(getpid(), root.path().string()).limit());
  EXPECT_EQ(CgroupMemory::of(getpid(), root.path().string()).used(), 900);
  write_text(group / limit, "5000\n");
  write_text(group / used, "700\n");
  write_text(group / (is_v1 ? "memory.oom_control" : "memory.events"), "low 0\noom_kill 2\noom_kill_disable 0\n");
  const CgroupMemory memory = CgroupMemory::of(getpid(), root.path().string());
  EXPECT_EQ(memory.limit(), 5000);
  EXPECT_EQ(memory.used(), 700);
  EXPECT_EQ(memory.kills(), 2);
}

TEST(CgroupMemory, TheUseOfAGroupIsByWhatItIsFor) {
  const ScratchFolder root;
  const auto [group, is_v1] = own_group(root.path().string());
  write_text(group / (is_v1 ? "memory.usage_in_bytes" : "memory.current"), "1000\n");
  write_text(group / "memory.stat",
             is_v1 ? "cache 1\nrss 2\nshmem 3\ntotal_cache 500\ntotal_rss 300\ntotal_shmem 120\ntotal_mapped_file 90\n"
                   : "anon 300\nfile 500\nkernel 40\nsock 2\nshmem 120\nfile_mapped 90\n");
  if (is_v1) write_text(group / "memory.kmem.usage_in_bytes", "42\n");
  write_text(group / "cgroup.procs", "4711\n");
  write_text(group / "below" / "cgroup.procs", "4712\n0\n");
  const CgroupMemory memory = CgroupMemory::around({getpid(), getpid()}, root.path().string());
  const auto use = memory.use();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 1000);
  EXPECT_EQ(use->anonymous, 300);
  EXPECT_EQ(use->file, 380);
  EXPECT_EQ(use->mapped, 90);
  EXPECT_EQ(use->shared, 120);
  EXPECT_EQ(use->kernel, 42);
  EXPECT_EQ(memory.processes(), (std::set<pid_t>{0, 4711, 4712}));
}

TEST(CgroupMemory, WithoutGroupsNothingIsKnown) {
  const ScratchFolder root;
  const CgroupMemory memory = CgroupMemory::of(getpid(), root.path().string());
  EXPECT_FALSE(memory.limit());
  EXPECT_FALSE(memory.used());
  EXPECT_FALSE(memory.kills());
  EXPECT_FALSE(CgroupMemory::around({getpid()}, root.path().string()).use());
  EXPECT_TRUE(CgroupMemory::around({}, root.path().string()).processes().empty());
}

}  // namespace
}  // namespace dcmt::recorder
