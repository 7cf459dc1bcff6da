#include "collector/recorder/folder/file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace dcmt::recorder {
namespace {

struct Named {
  std::uint32_t type;
  std::string_view name;
};

/// Most numbers are those of linux/magic.h. Those of Lustre, GPFS and BeeGFS come from their own sources. FUSE is here
/// because most of what it is used for is remote: SSHFS, GlusterFS, JuiceFS, buckets, folders of a virtual machine's
/// host.
constexpr std::array kNetwork = {
    Named{0x6969, "NFS"},      Named{0x0BD00BD0, "Lustre"}, Named{0xFF534D42, "CIFS"},   Named{0xFE534D42, "SMB"},
    Named{0x517B, "SMB"},      Named{0x47504653, "GPFS"},   Named{0x19830326, "BeeGFS"}, Named{0x00C36400, "CephFS"},
    Named{0x5346414F, "AFS"},  Named{0x6B414653, "AFS"},    Named{0x73757245, "Coda"},   Named{0x01021997, "9p"},
    Named{0x01161970, "GFS2"}, Named{0x7461636F, "OCFS2"},  Named{0x65735546, "FUSE"},
};

}  // namespace

std::string_view network_file_system(long type) {
  // The kernel has 32 bits; where long is wider, they may have been extended by a sign.
  const auto number = static_cast<std::uint32_t>(type);
  const auto found = std::ranges::find(kNetwork, number, &Named::type);
  return found != kNetwork.end() ? found->name : std::string_view();
}

std::string_view network_file_system_of(const std::string& path) {
  struct statfs status {};
  return statfs(path.c_str(), &status) == 0 ? network_file_system(status.f_type) : std::string_view();
}

}  // namespace dcmt::recorder
