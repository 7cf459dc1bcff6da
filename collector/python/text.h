// Converts Python text to UTF-8 itself: PyUnicode_AsUTF8 allocates and needs the GIL.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dcmt::python_provider {

/// UTF-8 of a str, in a buffer of its own. Longer text is cut at a character. A surrogate becomes U+FFFD. An object
/// that is not a ready str becomes empty. Does not need the GIL while the object lives.
class Text {
 public:
  explicit Text(PyObject* object) noexcept;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  [[nodiscard]] const char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }
  /// The agent's string id of the text, published at first sight.
  [[nodiscard]] std::uint64_t intern() const noexcept;

 private:
  static constexpr std::size_t kCapacity = 8192;  // the agent truncates strings at this length, too
  const char* data_ = "";
  std::size_t size_ = 0;
  char buffer_[kCapacity];
};

}  // namespace dcmt::python_provider
