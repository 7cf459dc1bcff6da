// Writes pickles of plain data (protocol 4) as they come, so that a large one is never in memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dcmt::convert {

/// Values are written in the order of Python's source: `list(); item(); integer(1); item_end(); …`. The caller keeps
/// that order; nothing is checked. Errors of the stream are for the caller to see.
class PickleWriter {
 public:
  explicit PickleWriter(std::ostream& out);

  void integer(std::int64_t number);
  /// Written once, and referred to from then on: for keys and texts that come again. Each stays in memory.
  void text(std::string_view text);
  /// Written each time.
  void text_once(std::string_view text);
  void boolean(bool value);

  void begin_list();
  /// After each value of a list.
  void append();
  void begin_dict();
  /// Its value follows.
  void key(std::string_view name) { text(name); }
  void end_dict();
  void pair(std::int64_t first, std::int64_t second);

  /// Remembers the value that was written last; refer() writes it again.
  std::uint32_t remember();
  void refer(std::uint32_t number);

  /// Nothing may follow.
  void end();

 private:
  void number(std::uint64_t value, unsigned bytes);
  void byte(std::uint8_t value);

  std::ostream& out_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::uint32_t remembered_ = 0;
};

}  // namespace dcmt::convert
