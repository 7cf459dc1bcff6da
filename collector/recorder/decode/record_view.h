// Looking at a wire record without trusting it: a copy of its fixed part if it is long enough, and the bytes behind.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "trace/wire/records.h"

namespace dcmt::recorder {

/// The whole record's bytes, header included.
inline std::string_view record_bytes(const wire::RecordHeader& record) {
  return {reinterpret_cast<const char*>(&record), std::size_t{record.words} * 8};
}

/// The record's fixed part, or nothing if it is too short to have one.
template <class T>
std::optional<T> view_as(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// `bytes` bytes behind the fixed part, or nothing if they do not fit into the record.
template <class T>
std::optional<std::string_view> tail_of(std::string_view record, std::uint64_t bytes) {
  if (record.size() < sizeof(T) || bytes > record.size() - sizeof(T)) return std::nullopt;
  return record.substr(sizeof(T), static_cast<std::size_t>(bytes));
}

}  // namespace dcmt::recorder
