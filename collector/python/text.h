// Python text as UTF-8, without Python's help: PyUnicode_AsUTF8 allocates and wants the GIL.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace dcmt::python_provider {

/// UTF-8 of a str, in a buffer of its own. Text that does not fit is cut at a character; a surrogate becomes U+FFFD;
/// an object that is no ready str becomes empty. No GIL needed while the object lives.
class Text {
 public:
  explicit Text(PyObject* object) noexcept;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  [[nodiscard]] const char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The agent's string id of the text, published at first sight.
  [[nodiscard]] std::uint64_t intern() const noexcept;

 private:
  static constexpr std::size_t kCapacity = 8192;  // the agent cuts strings there too
  const char* data_ = "";
  std::size_t size_ = 0;
  char buffer_[kCapacity];
};

}  // namespace dcmt::python_provider
