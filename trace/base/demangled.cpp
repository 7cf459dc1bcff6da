#include "trace/base/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace dcmt {

std::optional<std::string> demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

}  // namespace dcmt
