#include "collector/recorder/folder/file_system.h"

#include <gtest/gtest.h>
#include <linux/magic.h>

namespace dcmt::recorder {
namespace {

TEST(FileSystem, NetworkOnesHaveNames) {
  EXPECT_EQ(network_file_system(NFS_SUPER_MAGIC), "NFS");
  EXPECT_EQ(network_file_system(CEPH_SUPER_MAGIC), "CephFS");
  EXPECT_EQ(network_file_system(V9FS_MAGIC), "9p");
  EXPECT_EQ(network_file_system(FUSE_SUPER_MAGIC), "FUSE");
  EXPECT_EQ(network_file_system(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_file_system(0x47504653), "GPFS");
  EXPECT_EQ(network_file_system(0x19830326), "BeeGFS");
}

TEST(FileSystem, ANumberWithTheHighestBitIsFoundHoweverItWasExtended) {
  EXPECT_EQ(network_file_system(static_cast<long>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_file_system(static_cast<int>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_file_system(static_cast<int>(0xFE534D42)), "SMB");
}

TEST(FileSystem, LocalOnesHaveNone) {
  for (const long type :
       {static_cast<long>(EXT4_SUPER_MAGIC), static_cast<long>(XFS_SUPER_MAGIC), static_cast<long>(BTRFS_SUPER_MAGIC),
        static_cast<long>(TMPFS_MAGIC), static_cast<long>(OVERLAYFS_SUPER_MAGIC), 0L}) {
    EXPECT_EQ(network_file_system(type), "");
  }
}

TEST(FileSystem, OfAFolder) {
  EXPECT_EQ(network_file_system_of("/proc"), "");
  EXPECT_EQ(network_file_system_of("/no/such/folder"), "");
}

}  // namespace
}  // namespace dcmt::recorder
