#include "collector/recorder/unwind/source_lines.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "trace/base/byte_reader.h"

namespace dcmt::recorder {
namespace {

using scan::Address;

/// Limits: of the section's bytes, and of rows.
constexpr std::size_t kMostBytes = std::size_t{64} << 20, kMostRows = 4 << 20;

}  // namespace

/// The lines of one compiled unit.
class SourceLines::Unit {
 public:
  struct Texts {
    std::string_view lines, strings;  ///< sections .debug_line_str, .debug_str
  };
  Unit(std::string_view bytes, const Texts& texts, SourceLines& all) : reader_(bytes), texts_(texts), all_(all) {}

  /// Numbers among the files of all units, by the unit's own.
  [[nodiscard]] const std::vector<std::uint32_t>& files() const { return files_; }

  void read() {
    version_ = reader_.fixed<std::uint16_t>();
    if (version_ < 2 || version_ > 5) return;
    if (version_ >= 5) {
      reader_.byte();  // sizes of addresses and of segments
      reader_.byte();
    }
    const auto header = reader_.fixed<std::uint32_t>();
    const std::size_t program = reader_.at() + header;
    unit_ = reader_.byte();
    if (version_ >= 4) reader_.byte();
    reader_.byte();
    base_ = static_cast<std::int8_t>(reader_.byte());
    range_ = reader_.byte();
    first_special_ = reader_.byte();
    for (unsigned i = 1; i < first_special_; ++i) lengths_.push_back(reader_.byte());
    if (range_ == 0 || first_special_ == 0) return;
    version_ >= 5 ? read_names() : read_old_names();
    if (!reader_.ok() || program < reader_.at()) return;
    reader_.skip(program - reader_.at());
    run();
  }

 private:
  struct Form {
    std::uint64_t content, form;
  };

  std::string_view text_at(std::string_view section, std::uint64_t at) const {
    return at < section.size() ? ByteReader(section.substr(at)).text() : std::string_view();
  }

  std::vector<Form> read_forms() {
    std::vector<Form> forms(reader_.byte());
    for (Form& form : forms) {
      form.content = reader_.uleb();
      form.form = reader_.uleb();
    }
    return forms;
  }

  struct Name {
    std::string_view path;
    std::uint64_t folder = 0;
  };
  Name read_name(const std::vector<Form>& forms) {
    constexpr std::uint64_t kPath = 1, kFolder = 2;
    Name name;
    for (const Form& form : forms) {
      std::string_view text;
      std::uint64_t number = 0;
      switch (form.form) {
        case 0x08:
          text = reader_.text();
          break;
        case 0x1f:
          text = text_at(texts_.lines, reader_.fixed<std::uint32_t>());
          break;
        case 0x0e:
          text = text_at(texts_.strings, reader_.fixed<std::uint32_t>());
          break;
        case 0x0b:
          number = reader_.byte();
          break;
        case 0x05:
          number = reader_.fixed<std::uint16_t>();
          break;
        case 0x06:
          number = reader_.fixed<std::uint32_t>();
          break;
        case 0x0f:
          number = reader_.uleb();
          break;
        case 0x1e:
          reader_.skip(16);
          break;
        case 0x09:
          reader_.skip(reader_.uleb());
          break;
        default:
          reader_.skip(~std::uint64_t{0});
      }
      if (form.content == kPath) name.path = text;
      if (form.content == kFolder) name.folder = number;
    }
    return name;
  }

  void read_names() {
    const std::vector<Form> of_folder = read_forms();
    for (std::uint64_t left = reader_.uleb(); left > 0 && reader_.ok(); --left) {
      folders_.push_back(read_name(of_folder).path);
    }
    const std::vector<Form> of_file = read_forms();
    for (std::uint64_t left = reader_.uleb(); left > 0 && reader_.ok(); --left) add_file(read_name(of_file));
  }

  void read_old_names() {
    folders_.emplace_back();
    for (std::string_view text = reader_.text(); reader_.ok() && !text.empty(); text = reader_.text()) {
      folders_.push_back(text);
    }
    add_file({});  // files have numbers from 1
    for (std::string_view text = reader_.text(); reader_.ok() && !text.empty(); text = reader_.text()) {
      const Name name{text, reader_.uleb()};
      reader_.uleb();
      reader_.uleb();
      add_file(name);
    }
  }

  void add_file(const Name& name) {
    files_.push_back(static_cast<std::uint32_t>(all_.files_.size()));
    const std::string_view folder = name.folder < folders_.size() ? folders_[name.folder] : std::string_view();
    const bool is_whole = name.path.starts_with('/') || folder.empty();
    all_.files_.push_back(is_whole ? std::string(name.path) : std::string(folder) + "/" + std::string(name.path));
  }

  void add_row(bool ends) {
    if (all_.rows_.size() >= kMostRows) return;
    const bool is_known = file_ < files_.size() && line_ > 0;
    all_.rows_.push_back(
        {address_, is_known ? files_[file_] : 0, ends || !is_known ? 0 : static_cast<std::uint32_t>(line_)});
  }

  void begin_sequence() {
    address_ = 0;
    file_ = 1;
    line_ = 1;
  }

  void run() {
    begin_sequence();
    while (reader_.ok() && !reader_.at_end()) {
      const std::uint8_t code = reader_.byte();
      if (code >= first_special_) {
        const unsigned adjusted = code - first_special_;
        address_ += std::uint64_t{adjusted / range_} * unit_;
        line_ += base_ + static_cast<int>(adjusted % range_);
        add_row(false);
      } else if (code == 0) {
        extended();
      } else {
        standard(code);
      }
    }
  }

  void extended() {
    const std::uint64_t length = reader_.uleb();
    const std::size_t begin = reader_.at();
    const std::uint8_t code = length == 0 ? 0 : reader_.byte();
    if (code == 1) {
      add_row(true);
      begin_sequence();
    } else if (code == 2) {
      address_ = reader_.fixed<std::uint64_t>();
    }
    if (reader_.at() < begin + length) reader_.skip(begin + length - reader_.at());
  }

  void standard(std::uint8_t code) {
    switch (code) {
      case 1:  // copy
        return add_row(false);
      case 2:
        address_ += reader_.uleb() * unit_;
        return;
      case 3:
        line_ += reader_.sleb();
        return;
      case 4:
        file_ = reader_.uleb();
        return;
      case 8:  // const_add_pc
        address_ += std::uint64_t{(255u - first_special_) / range_} * unit_;
        return;
      case 9:
        address_ += reader_.fixed<std::uint16_t>();
        return;
      default:
        for (unsigned i = code <= lengths_.size() ? lengths_[code - 1u] : 0; i > 0; --i) reader_.uleb();
    }
  }

  ByteReader reader_;
  const Texts& texts_;
  SourceLines& all_;
  unsigned version_ = 0, unit_ = 1, range_ = 0, first_special_ = 0;
  int base_ = 0;
  std::vector<std::uint8_t> lengths_;
  std::vector<std::string_view> folders_;
  std::vector<std::uint32_t> files_;  ///< numbers in the files of all units
  Address address_ = 0;
  std::uint64_t file_ = 1;
  std::int64_t line_ = 1;
};

SourceLines::SourceLines(const scan::ElfFile& file) {
  const std::string_view section = file.section(".debug_line");
  if (section.size() > kMostBytes) return;
  const Unit::Texts texts{file.section(".debug_line_str"), file.section(".debug_str")};
  ByteReader units(section);
  while (units.ok() && !units.at_end()) {
    const std::uint64_t begin = units.at();
    const auto length = units.fixed<std::uint32_t>();
    constexpr std::uint32_t kLong = 0xfffffff0;
    if (!units.ok() || length >= kLong) break;
    Unit unit(units.rest().substr(0, length), texts, *this);
    unit.read();
    of_units_[begin] = unit.files();
    units.skip(length);
  }
  // Where one sequence ends and the next begins, the begin counts.
  std::ranges::stable_sort(rows_, [](const Row& a, const Row& b) {
    return std::pair(a.address, a.line != 0) < std::pair(b.address, b.line != 0);
  });
}

std::optional<SourceLine> SourceLines::at(Address instruction) const {
  const auto after = std::ranges::upper_bound(rows_, instruction, {}, &Row::address);
  if (after == rows_.begin() || std::prev(after)->line == 0) return {};
  return SourceLine{files_[std::prev(after)->file], std::prev(after)->line};
}

std::optional<std::string> SourceLines::file(std::uint64_t unit, std::uint64_t number) const {
  const auto found = of_units_.find(unit);
  if (found == of_units_.end() || number >= found->second.size()) return {};
  return files_[found->second[number]];
}

}  // namespace dcmt::recorder
