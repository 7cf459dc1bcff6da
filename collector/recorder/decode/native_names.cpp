#include "collector/recorder/decode/native_names.h"

#include <fmt/format.h>

#include "trace/base/demangled.h"

namespace dcmt::recorder {

std::string NativeNames::function_at(const std::string& path, std::uint64_t offset) {
  const std::vector<scan::FileFunction>& functions = file_of(path).functions;
  // A return address can be one past the end of a function that does not return.
  const std::uint64_t inside = offset - 1;
  const scan::FileFunction* function = scan::function_at(functions, inside);
  if (function == nullptr) return fmt::format("+{:#x}", offset);
  const std::string mangled(function->name);
  return without_brackets(demangled(mangled).value_or(mangled));
}

const NativeNames::File& NativeNames::file_of(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  File& file = files_[path];
  file.file = std::make_unique<scan::ElfFile>(path);
  file.functions = file.file->functions();
  return file;
}

}  // namespace dcmt::recorder
