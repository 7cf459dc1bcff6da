#include "collector/recorder/folder/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>

namespace dcmt::recorder {

bool is_made_from(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 6) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

int open_private(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (fd < 0) return -1;
  if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 0777) == 0700) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

}  // namespace dcmt::recorder
