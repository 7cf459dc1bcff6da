#include "convert/pickle/reader.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "convert/pickle/opcodes.h"

namespace dcmt::convert {
namespace {

constexpr std::uint8_t kOldestProtocol = 2, kNewestProtocol = 5;
constexpr std::size_t kDeepest = 256;  ///< nested marks: a snapshot of torch has 8

// The memory for a snapshot is about 4 times its size. Small files may need more.
constexpr std::size_t kMemoryPerByte = 12;
constexpr std::size_t kMemoryAtLeast = std::size_t{16} << 20;

}  // namespace

class PickleReader {
 public:
  PickleReader(std::string bytes, const std::string& name) : name_(name) {
    data_.bytes_ = std::move(bytes);
    most_memory_ = kMemoryAtLeast + kMemoryPerByte * std::min(data_.bytes_.size(), std::size_t{1} << 40);
    for (const ValueKind kind : {ValueKind::kNone, ValueKind::kBool, ValueKind::kBool}) {
      Value value;
      value.kind = kind;
      value.integer = data_.values_.size() == kTrue ? 1 : 0;
      data_.values_.push_back(value);
    }
  }

  Expected<PickleData> read() {
    if (!begins_like_pickle(data_.bytes_)) return bad("is no pickle of protocol 2 to 5");
    while (!stopped_) {
      if (at_ >= data_.bytes_.size()) return cut_short();
      begin_ = at_;
      DCMT_RETURN_IF_ERROR(run(read8()));
      if (memory_ > most_memory_) return bad("needs more memory than a pickle of its size explains");
    }
    return std::move(data_);
  }

 private:
  static constexpr ValueId kNoneValue = 0, kFalse = 1, kTrue = 2;  // these values exist only once

  [[nodiscard]] Error bad(const std::string& what) const {
    return Error{ErrorCode::kBadInput, name_ + ": " + what +
                                           ". torch's snapshots are made by "
                                           "torch.cuda.memory._dump_snapshot(FILE)."};
  }
  [[nodiscard]] Error cut_short() const {
    return Error{ErrorCode::kBadInput, name_ +
                                           ": damaged: the pickle was cut short, or it has a wrong length at byte " +
                                           std::to_string(begin_) + "."};
  }
  [[nodiscard]] Error senseless() const {
    return Error{ErrorCode::kBadInput,
                 name_ + ": damaged: the pickle makes no sense at byte " + std::to_string(begin_) + "."};
  }
  [[nodiscard]] Error refused(std::string_view opcode) const {
    return Error{ErrorCode::kBadInput, name_ + ": refused, nothing was run: opcode " + std::string(opcode) +
                                           " at byte " + std::to_string(begin_) +
                                           " is not plain data, and torch's snapshots are. Do not unpickle this file."};
  }

  // Numbers of the pickle are little-endian. has() must be called first.
  [[nodiscard]] bool has(std::uint64_t count) const { return count <= data_.bytes_.size() - at_; }
  std::uint8_t read8() { return static_cast<std::uint8_t>(data_.bytes_[at_++]); }
  std::uint64_t read(unsigned count) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < count; ++i) number |= static_cast<std::uint64_t>(read8()) << (8 * i);
    return number;
  }

  Status run(std::uint8_t code);
  Status run_container(std::uint8_t code);
  Status run_memo(std::uint8_t code);

  Status push(ValueId id) {
    memory_ += sizeof(ValueId);
    stack_.push_back(id);
    return {};
  }
  Status push_new(const Value& value) {
    if (data_.values_.size() >= std::numeric_limits<ValueId>::max()) return bad("has too many values");
    memory_ += sizeof(Value);
    data_.values_.push_back(value);
    return push(static_cast<ValueId>(data_.values_.size() - 1));
  }
  Status push_integer(std::int64_t number) {
    Value value;
    value.kind = ValueKind::kInteger;
    value.integer = number;
    return push_new(value);
  }
  Status push_long(unsigned length_bytes);
  Status push_text(ValueKind kind, unsigned length_bytes);
  Status push_items(ValueKind kind, std::vector<ValueId> items) {
    Value value;
    value.kind = kind;
    value.at = data_.items_.size();
    memory_ += sizeof(items) + items.capacity() * sizeof(ValueId);
    data_.items_.push_back(std::move(items));
    return push_new(value);
  }

  /// The number of values above the latest mark. Values below it are not accessible.
  [[nodiscard]] std::size_t above_mark() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  std::vector<ValueId> pop(std::size_t count) {
    std::vector<ValueId> last(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    memory_ -= count * sizeof(ValueId);
    return last;
  }
  /// Removes the latest mark, and returns the values above it.
  std::vector<ValueId> pop_marked() {
    std::vector<ValueId> marked = pop(above_mark());
    marks_.pop_back();
    return marked;
  }
  Status add_to(ValueKind kind, const std::vector<ValueId>& items) {
    if (above_mark() == 0 || !data_.is(stack_.back(), kind)) return senseless();
    if (kind == ValueKind::kDict && items.size() % 2 != 0) return senseless();
    std::vector<ValueId>& all = data_.items_[data_.values_[stack_.back()].at];
    memory_ -= all.capacity() * sizeof(ValueId);
    all.insert(all.end(), items.begin(), items.end());
    memory_ += all.capacity() * sizeof(ValueId);
    return {};
  }
  Status put(std::uint64_t index) {
    if (above_mark() == 0 || index > data_.bytes_.size()) return senseless();
    if (index >= memo_.size()) {
      memory_ -= memo_.capacity() * sizeof(ValueId);
      memo_.resize(index + 1, kNothing);
      memory_ += memo_.capacity() * sizeof(ValueId);
    }
    memo_[index] = stack_.back();
    return {};
  }
  Status get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNothing) return senseless();
    return push(memo_[index]);
  }

  static constexpr ValueId kNothing = std::numeric_limits<ValueId>::max();

  const std::string& name_;
  PickleData data_;
  std::size_t at_ = 0, begin_ = 0;  ///< the next byte; the current opcode
  std::size_t memory_ = 0, most_memory_ = 0;
  std::vector<ValueId> stack_, memo_;
  std::vector<std::size_t> marks_;  ///< heights of the stack at marks
  bool stopped_ = false;
};

Status PickleReader::push_long(unsigned length_bytes) {
  if (!has(length_bytes)) return cut_short();
  const std::uint64_t length = read(length_bytes);
  if (!has(length)) return cut_short();
  if (length > sizeof(std::int64_t)) {
    Value value;
    value.kind = ValueKind::kLargeInteger;
    value.length = length;
    at_ += length;
    return push_new(value);
  }
  std::uint64_t number = read(static_cast<unsigned>(length));
  // Two's complement: the highest existing bit determines the missing ones.
  if (length > 0 && length < sizeof(number) && (number >> (8 * length - 1)) != 0)
    number |= ~std::uint64_t{0} << (8 * length);
  return push_integer(static_cast<std::int64_t>(number));
}

Status PickleReader::push_text(ValueKind kind, unsigned length_bytes) {
  if (!has(length_bytes)) return cut_short();
  const std::uint64_t length = read(length_bytes);
  if (!has(length)) return cut_short();
  Value value;
  value.kind = kind;
  value.at = at_;
  value.length = length;
  at_ += length;
  return push_new(value);
}

Status PickleReader::run(std::uint8_t code) {
  switch (code) {
    case opcode::kProto:
      if (!has(1)) return cut_short();
      if (const std::uint8_t protocol = read8(); protocol < kOldestProtocol || protocol > kNewestProtocol) {
        return bad("is a pickle of protocol " + std::to_string(protocol) + ", and 2 to 5 are read");
      }
      return {};
    case opcode::kFrame:
      if (!has(8) || !has(read(8))) return cut_short();
      return {};
    case opcode::kStop:
      if (stack_.size() != 1 || !marks_.empty()) return senseless();
      data_.root_ = stack_.back();
      stopped_ = true;
      return {};
    case opcode::kNone:
      return push(kNoneValue);
    case opcode::kNewFalse:
      return push(kFalse);
    case opcode::kNewTrue:
      return push(kTrue);
    case opcode::kBinInt1:
      if (!has(1)) return cut_short();
      return push_integer(read8());
    case opcode::kBinInt2:
      if (!has(2)) return cut_short();
      return push_integer(static_cast<std::int64_t>(read(2)));
    case opcode::kBinInt:
      if (!has(4)) return cut_short();
      return push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(read(4))));
    case opcode::kLong1:
      return push_long(1);
    case opcode::kLong4:
      return push_long(4);
    case opcode::kBinFloat: {
      if (!has(8)) return cut_short();
      Value value;
      value.kind = ValueKind::kReal;
      value.real = std::bit_cast<double>(__builtin_bswap64(read(8)));  // the only big-endian number
      return push_new(value);
    }
    case opcode::kShortBinUnicode:
      return push_text(ValueKind::kText, 1);
    case opcode::kBinUnicode:
      return push_text(ValueKind::kText, 4);
    case opcode::kBinUnicode8:
      return push_text(ValueKind::kText, 8);
    case opcode::kShortBinBytes:
      return push_text(ValueKind::kBytes, 1);
    case opcode::kBinBytes:
      return push_text(ValueKind::kBytes, 4);
    case opcode::kBinBytes8:
      return push_text(ValueKind::kBytes, 8);
    default:
      return run_container(code);
  }
}

Status PickleReader::run_container(std::uint8_t code) {
  switch (code) {
    case opcode::kMark:
      if (marks_.size() >= kDeepest) return bad("is nested too deeply");
      marks_.push_back(stack_.size());
      return {};
    case opcode::kPop:
      if (above_mark() > 0) {
        pop(1);
      } else if (!marks_.empty()) {
        marks_.pop_back();
      } else {
        return senseless();
      }
      return {};
    case opcode::kDup:
      return above_mark() == 0 ? senseless() : push(stack_.back());
    case opcode::kEmptyList:
      return push_items(ValueKind::kList, {});
    case opcode::kEmptyTuple:
      return push_items(ValueKind::kTuple, {});
    case opcode::kEmptyDict:
      return push_items(ValueKind::kDict, {});
    case opcode::kTuple1:
    case opcode::kTuple2:
    case opcode::kTuple3: {
      const std::size_t count = code - opcode::kTuple1 + 1U;
      if (above_mark() < count) return senseless();
      return push_items(ValueKind::kTuple, pop(count));
    }
    case opcode::kAppend:
      if (above_mark() < 2) return senseless();
      return add_to(ValueKind::kList, pop(1));
    case opcode::kSetItem:
      if (above_mark() < 3) return senseless();
      return add_to(ValueKind::kDict, pop(2));
    default:
      break;
  }
  switch (code) {
    case opcode::kPopMark:
    case opcode::kList:
    case opcode::kTuple:
    case opcode::kDict:
    case opcode::kAppends:
    case opcode::kSetItems:
      break;
    default:
      return run_memo(code);
  }
  if (marks_.empty()) return senseless();
  std::vector<ValueId> items = pop_marked();
  switch (code) {
    case opcode::kPopMark:
      return {};
    case opcode::kList:
      return push_items(ValueKind::kList, std::move(items));
    case opcode::kTuple:
      return push_items(ValueKind::kTuple, std::move(items));
    case opcode::kDict:
      if (items.size() % 2 != 0) return senseless();
      return push_items(ValueKind::kDict, std::move(items));
    case opcode::kAppends:
      return add_to(ValueKind::kList, items);
    default:
      return add_to(ValueKind::kDict, items);
  }
}

Status PickleReader::run_memo(std::uint8_t code) {
  switch (code) {
    case opcode::kBinGet:
      if (!has(1)) return cut_short();
      return get(read8());
    case opcode::kLongBinGet:
      if (!has(4)) return cut_short();
      return get(read(4));
    case opcode::kBinPut:
      if (!has(1)) return cut_short();
      return put(read8());
    case opcode::kLongBinPut:
      if (!has(4)) return cut_short();
      return put(read(4));
    case opcode::kMemoize:
      return put(memo_.size());
    default:
      break;
  }
  const std::string_view name = opcode::name_of_refused(code);
  return name.empty() ? senseless() : refused(name);
}

Expected<PickleData> read_pickle(std::string bytes, const std::string& name) {
  return PickleReader(std::move(bytes), name).read();
}

bool begins_like_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<std::uint8_t>(bytes[0]) == opcode::kProto &&
         static_cast<std::uint8_t>(bytes[1]) >= kOldestProtocol &&
         static_cast<std::uint8_t>(bytes[1]) <= kNewestProtocol;
}

}  // namespace dcmt::convert
