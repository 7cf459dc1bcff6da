#include "collector/recorder/target/nameless_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>

namespace dcmt::recorder {

void become_nameless(const char* name) {
  prctl(PR_SET_NAME, name);
  char line[4096];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
  if (fd >= 0) close(fd);
  if (bytes <= 0) return;
  line[bytes] = '\0';
  // The addresses of the arguments: fields 48 and 49, counted after the end of the name.
  const char* field = strrchr(line, ')');
  for (int index = 2; field != nullptr && index < 48; ++index) {
    field = strchr(field, ' ');
    if (field != nullptr) ++field;
  }
  if (field == nullptr) return;
  char* next = nullptr;
  const std::uintptr_t begin = strtoull(field, &next, 10);
  const std::uintptr_t end = strtoull(next, nullptr, 10);
  if (begin != 0 && end > begin) memset(reinterpret_cast<void*>(begin), 0, end - begin);
}

}  // namespace dcmt::recorder
