#include "trace/base/code_path.h"

#include <algorithm>
#include <cstddef>

namespace dcmt {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Where headers of torch and of the standard library are installed.
bool is_library_header(std::string_view path) {
  constexpr std::string_view kFolders[] = {"/include/torch/", "/include/ATen/", "/include/c10/", "/include/c++/"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return contains(path, folder); });
}

}  // namespace

bool is_library_file(std::string_view path) {
  if (path.starts_with("<ipython-input-") || path == "<stdin>") return false;  // what a person typed
  if (path.empty() || path.starts_with("<")) return true;
  if (path.ends_with("/dc_memtrace/__init__.py")) return true;  // the site of a mark is its caller
  if (is_package_file(path)) return contains(path, "-packages/torch/") || contains(path, "-packages/functorch/");
  return contains(path, "/lib/python3.") || is_library_header(path);
}

bool is_library_function(std::string_view name) {
  constexpr std::string_view kSpaces[] = {"torch::", "at::", "c10::", "std::", "__gnu_cxx::"};
  return std::ranges::any_of(kSpaces, [&](std::string_view space) { return name.starts_with(space); });
}

bool is_package_file(std::string_view path) { return contains(path, "-packages/"); }

bool is_compiler_output(std::string_view path) {
  return contains(path, "/torchinductor_") || contains(path, "/inductor_cache/") || path.starts_with("<eval_with_key>");
}

std::string_view short_path(std::string_view path, int parts) {
  std::size_t cut = path.size();
  for (; parts > 0 && cut != std::string_view::npos && cut != 0; --parts) cut = path.rfind('/', cut - 1);
  return cut == std::string_view::npos || cut == 0 ? path : path.substr(cut + 1);
}

}  // namespace dcmt
