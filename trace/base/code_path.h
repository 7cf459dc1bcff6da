// Paths of source files: to which package a file belongs, and how a user names it.
#pragma once

#include <string_view>

namespace dcmt {

/// True for files of torch, of Python's and of C++'s standard library and of our own marks, and for code without a
/// file: a user's mistake is not there.
[[nodiscard]] bool is_library_file(std::string_view path);

/// The same for a C++ function, by its name.
[[nodiscard]] bool is_library_function(std::string_view name);

/// True for files of an installed package, torch included: the user's own program lies elsewhere.
[[nodiscard]] bool is_package_file(std::string_view path);

/// True for files in the folders where torch's compilers write generated code.
[[nodiscard]] bool is_compiler_output(std::string_view path);

/// The last `parts` components of a path: "model.py", "ab/cab.py".
[[nodiscard]] std::string_view short_path(std::string_view path, int parts = 2);

}  // namespace dcmt
