#include "collector/scan/process/stated_layout.h"

#include <fmt/format.h>

#include <string>

namespace dcmt::scan {
namespace {

constexpr Address kVersion = 8, kFreeThreaded = 16;  // after the cookie
constexpr std::string_view kCookie = "xdebugpy";

Error cannot_inspect(std::uint64_t version, const std::string& why) {
  return Error{ErrorCode::kCannotRecord, fmt::format("cannot inspect CPython {}.{}.{}: {}", version >> 24,
                                                     version >> 16 & 255, version >> 8 & 255, why)};
}

}  // namespace

Status check_stated_layout(Mirror& memory, const PythonLayout& layout, Address runtime) {
  if (layout.stated.empty()) return {};
  const std::uint64_t version = memory.word(runtime + kVersion);
  if (memory.text(runtime, kCookie.size()) != kCookie || static_cast<std::int64_t>(version >> 16) != layout.version) {
    return Error{ErrorCode::kCannotRecord, fmt::format("cannot inspect CPython {}.{}: it does not state its layout",
                                                       layout.version >> 8, layout.version & 255)};
  }
  if (memory.word(runtime + kFreeThreaded) != 0) {
    return cannot_inspect(version, "it is free-threaded, and this build reads only CPython with a GIL");
  }
  for (const StatedValue& value : layout.stated) {
    const std::uint64_t stated = memory.word(runtime + static_cast<Address>(value.where));
    const std::int64_t compiled = layout.*value.member;
    if (stated == static_cast<std::uint64_t>(compiled)) continue;
    return cannot_inspect(version, fmt::format("its {} is {}, and {} in the headers that this build was made with",
                                               value.name, stated, compiled));
  }
  return {};
}

}  // namespace dcmt::scan
