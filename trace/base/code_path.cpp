#include "trace/base/code_path.h"

#include <cstddef>

namespace dcmt {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_library_file(std::string_view path) {
  if (path.starts_with("<ipython-input-") || path == "<stdin>") return false;  // what a person typed
  if (path.empty() || path.starts_with("<")) return true;
  if (path.ends_with("/dc_memtrace/__init__.py")) return true;  // the site of a mark is its caller
  if (is_package_file(path)) return contains(path, "-packages/torch/") || contains(path, "-packages/functorch/");
  return contains(path, "/lib/python3.");
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
