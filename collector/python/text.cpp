#include "collector/python/text.h"

#include "collector/agent/provider.h"

namespace dcmt::python_provider {
namespace {

/// Appends one character; returns the bytes written, 0 if there is not enough space.
std::size_t encode(Py_UCS4 c, char* out, std::size_t room) noexcept {
  if (c >= 0xD800 && c <= 0xDFFF) c = 0xFFFD;
  const auto continuation = [](Py_UCS4 bits) { return static_cast<char>(0x80u | (bits & 0x3Fu)); };
  if (c < 0x80) {
    if (room < 1) return 0;
    out[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    if (room < 2) return 0;
    out[0] = static_cast<char>(0xC0u | (c >> 6));
    out[1] = continuation(c);
    return 2;
  }
  if (c < 0x10000) {
    if (room < 3) return 0;
    out[0] = static_cast<char>(0xE0u | (c >> 12));
    out[1] = continuation(c >> 6);
    out[2] = continuation(c);
    return 3;
  }
  if (room < 4) return 0;
  out[0] = static_cast<char>(0xF0u | (c >> 18));
  out[1] = continuation(c >> 12);
  out[2] = continuation(c >> 6);
  out[3] = continuation(c);
  return 4;
}

}  // namespace

Text::Text(PyObject* object) noexcept {
  if (object == nullptr || !PyUnicode_Check(object) || !PyUnicode_IS_READY(object)) return;
  const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(object));
  if (PyUnicode_IS_ASCII(object)) {
    data_ = static_cast<const char*>(PyUnicode_DATA(object));
    size_ = length;
    return;
  }
  const auto kind = PyUnicode_KIND(object);
  const void* const characters = PyUnicode_DATA(object);
  data_ = buffer_;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t bytes =
        encode(PyUnicode_READ(kind, characters, static_cast<Py_ssize_t>(i)), buffer_ + size_, kCapacity - size_);
    if (bytes == 0) break;
    size_ += bytes;
  }
}

std::uint64_t Text::intern() const noexcept { return agent::intern(data_, size_); }

}  // namespace dcmt::python_provider
