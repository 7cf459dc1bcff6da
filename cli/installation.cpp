#include "cli/installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "trace/base/read_file.h"

namespace dcmt::cli {
namespace fs = std::filesystem;

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "dc-memtrace";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "dc-memtrace" : fs::path();
}

fs::path preparation_folder() {
  const fs::path cache = cache_folder();
  std::string digest = read_file((data_folder() / "source" / "digest").string()).value_or("");
  while (digest.ends_with('\n')) digest.pop_back();
  return cache.empty() || digest.empty() ? fs::path() : cache / "providers" / digest;
}

fs::path prepared_folder() {
  const fs::path folder = preparation_folder();
  struct stat facts {};
  const bool ours = !folder.empty() && stat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
                    facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return ours ? folder : fs::path();
}

}  // namespace dcmt::cli
