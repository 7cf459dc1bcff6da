// Passes over the memory of a process, as the recorder makes them: one for each line of standard input, as one line of
// JSON with its times, its costs and the holders that it confirmed.
//
// Usage: memory_passes PID LAYOUTS
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>

#include "collector/scan/census.h"

namespace dcmt {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < ' ' ? '?' : letter;
  }
  return result + '"';
}

std::string text_of(const scan::Census& census) {
  std::string text;
  for (const scan::HeldStorage& storage : census.storages) {
    std::string holders;
    for (const scan::Holder& holder : storage.holders) {
      if (!holder.confirmed) continue;
      holders += fmt::format(R"({}[{},{}])", holders.empty() ? "" : ",", quoted(holder.readable()), holder.rooted);
    }
    text += fmt::format(R"({}{{"data":{},"bytes":{},"holders":[{}]}})", text.empty() ? "" : ",", storage.data,
                        storage.bytes, holders);
  }
  return text;
}

int passes(int pid, const std::string& layouts) {
  Expected<scan::Censuses> censuses = scan::Censuses::open(pid, {layouts, ""});
  std::string line;
  while (censuses.ok() && std::getline(std::cin, line)) {
    const double begin = seconds_of(CLOCK_MONOTONIC);
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    const Expected<scan::Census> census = censuses->take({});
    if (!census.ok()) {
      std::cerr << census.error().message << '\n';
      return 1;
    }
    std::cout
        << fmt::format(
               R"({{"begin":{},"second":{},"end":{},"cpu":{},"peak_kib":{},"objects":{},"references":{},"read":{},"torn":{},)"
               R"("storages":[{}]}})",
               begin, begin + census->until_second, seconds_of(CLOCK_MONOTONIC),
               seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, peak_kib(), census->objects, census->references,
               census->bytes_read, census->torn, text_of(*census))
        << std::endl;
  }
  if (!censuses.ok()) std::cerr << censuses.error().message << '\n';
  return censuses.ok() ? 0 : 1;
}

}  // namespace
}  // namespace dcmt

int main(int argc, char** argv) {
  int pid = 0;
  const std::string_view number = argc == 3 ? argv[1] : "";
  if (std::from_chars(number.data(), number.data() + number.size(), pid).ec != std::errc() || pid <= 0) {
    std::cerr << "usage: memory_passes PID LAYOUTS\n";
    return 2;
  }
  return dcmt::passes(pid, argv[2]);
}
