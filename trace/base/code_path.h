// Paths of Python files: whose code it is, and how a person names the file.
#pragma once

#include <string_view>

namespace dcmt {

/// True for files of torch itself, of Python's standard library, of our own marks and for code without a file: nobody's
/// mistake is there.
[[nodiscard]] bool is_library_file(std::string_view path);

/// True for files of an installed package, torch's among them: a person's own program lies elsewhere.
[[nodiscard]] bool is_package_file(std::string_view path);

/// True for files where torch's compilers keep what they write.
[[nodiscard]] bool is_compiler_output(std::string_view path);

/// The last `parts` components of a path: "model.py", "ab/cab.py".
[[nodiscard]] std::string_view short_path(std::string_view path, int parts = 2);

}  // namespace dcmt
