// Reads a wire record without trusting it: copies its fixed part if it is long enough, and the bytes after that.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "trace/sql/limits.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// The whole record's bytes, header included.
inline std::string_view record_bytes(const wire::RecordHeader& record) {
  return {reinterpret_cast<const char*>(&record), std::size_t{record.words} * 8};
}

/// False if a number of the record exceeds the limits of a trace: no value of a program is that large.
template <class T>
bool has_possible_counts(const T& record) {
  const auto fits = [](auto value) {
    constexpr bool kSigned = std::is_signed_v<decltype(value)>;
    if constexpr (kSigned) return value >= -kLargestCount && value <= kLargestCount;
    if constexpr (!kSigned) return value <= static_cast<std::uint64_t>(kLargestCount);
  };
  const auto fit = [&](auto... values) { return (fits(values) && ...); };
  bool possible = true;
  if constexpr (requires { record.bytes; }) possible = possible && fit(record.bytes);
  if constexpr (requires { record.old_bytes; }) possible = possible && fit(record.old_bytes);
  if constexpr (requires { record.ordinal; }) possible = possible && fit(record.ordinal);
  if constexpr (requires { record.value; }) possible = possible && fit(record.value);
  if constexpr (requires { record.cycle; }) possible = possible && fit(record.cycle);
  if constexpr (requires { record.count; }) possible = possible && fit(record.count);
  if constexpr (requires { record.python_count; }) possible = possible && fit(record.python_count);
  if constexpr (requires { record.touches; }) possible = possible && fit(record.touches);
  if constexpr (requires { record.reserved; }) possible = possible && fit(record.reserved);
  if constexpr (requires { record.total; }) possible = possible && fit(record.total);
  if constexpr (requires { record.allocated; }) possible = possible && fit(record.allocated, record.free);
  if constexpr (requires { record.calls; }) {
    possible = possible && fit(record.calls, record.graphs, record.nccl, record.unknown, record.copies);
  }
  return possible;
}

/// The record's fixed part; nothing if the record is too short or its numbers are impossible.
template <class T>
std::optional<T> view_as(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return has_possible_counts(value) ? std::optional(value) : std::nullopt;
}

/// `bytes` bytes after the fixed part; nothing if they do not fit into the record.
template <class T>
std::optional<std::string_view> tail_of(std::string_view record, std::uint64_t bytes) {
  if (record.size() < sizeof(T) || bytes > record.size() - sizeof(T)) return std::nullopt;
  return record.substr(sizeof(T), static_cast<std::size_t>(bytes));
}

}  // namespace dcmt::recorder
