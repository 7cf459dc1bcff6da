// Readable C++ names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dcmt {

/// "std::vector<int>" for "St6vectorIiSaIiEE"; nullopt if the text is not a mangled name (Itanium C++ ABI).
[[nodiscard]] std::optional<std::string> demangled(const std::string& name);

/// "c10::intrusive_ptr::reset_not_null_" of "c10::intrusive_ptr<c10::StorageImpl,
/// …>::reset_not_null_(c10::StorageImpl*)": without what is in brackets.
[[nodiscard]] std::string without_brackets(std::string_view function);

/// "Net::forward" of "(anonymous namespace)::Net::forward(at::Tensor const&)": without brackets, and without the names
/// of unnamed namespaces.
[[nodiscard]] std::string short_function(std::string_view function);

}  // namespace dcmt
