#include "trace/base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "trace/base/descriptor.h"

namespace dcmt {

std::optional<std::string> read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string content;
  char part[16384];
  for (;;) {
    const ssize_t count = read(file.get(), part, sizeof part);
    if (count == 0) return content;
    if (count > 0) content.append(part, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return std::nullopt;
  }
}

}  // namespace dcmt
