// Writes pickles of plain data (protocol 4) piece by piece, so that a large one is never in memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dcmt::convert {

/// Values are written in the order of Python's source: `list(); item(); integer(1); item_end(); …`. The order is not
/// checked. The caller must check the stream for errors.
class PickleWriter {
 public:
  explicit PickleWriter(std::ostream& out);

  void integer(std::int64_t number);
  /// Writes the text once, then refers to it: for keys and repeated texts. Each text stays in memory.
  void text(std::string_view text);
  /// Writes the text each time.
  void text_once(std::string_view text);
  void boolean(bool value);

  void begin_list();
  /// To be called after each value of a list.
  void append();
  void begin_dict();
  /// To be called before each value of a dictionary.
  void key(std::string_view name) { text(name); }
  void end_dict();
  void pair(std::int64_t first, std::int64_t second);

  /// Stores the last value for refer(), which writes it again.
  std::uint32_t remember();
  void refer(std::uint32_t number);

  /// The last call.
  void end();

 private:
  void number(std::uint64_t value, unsigned bytes);
  void byte(std::uint8_t value);

  std::ostream& out_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::uint32_t remembered_ = 0;
};

}  // namespace dcmt::convert
