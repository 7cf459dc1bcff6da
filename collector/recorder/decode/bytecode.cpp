#include "collector/recorder/decode/bytecode.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "collector/recorder/decode/bytecode_opcodes.h"

namespace dcmt::recorder {
namespace {

using Index = std::uint32_t;
constexpr Index kNone = std::numeric_limits<Index>::max();

Error malformed(const char* what) {
  return Error{ErrorCode::kBadInput,
               std::string("Python code object: ") + what + "; its variables have no assignment lines"};
}

/// An instruction's position in the source. Columns are -1 if the compiler stored none.
struct Position {
  int line = 0;
  int end_line = 0;
  int column = -1;
  int end_column = -1;
  auto operator<=>(const Position&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Instruction {
  OpcodeRole role = OpcodeRole::kUnknown;
  std::uint32_t argument = 0;
  std::uint32_t second = kNone;  ///< of a store into two locals: the second one
  Position position;
  Index jump = kNone;         ///< index of the instruction to which it can jump
  Index handler = kNone;      ///< index of the instruction that runs if it raises
  Index clear = kNone;        ///< of a store that ends an inlined comprehension: the instruction that saved the value
  std::vector<Index> ends;    ///< of such a saving instruction: the stores that end its comprehension
  bool goes_on = true;        ///< can continue with the next instruction
  std::vector<Index> before;  ///< instructions that it can follow without an exception
  std::vector<Index> raised_before;  ///< instructions whose exception it handles
};

/// Reads the bytes of a table one by one, with a check of the bounds.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  [[nodiscard]] bool empty() const { return at_ == text_.size(); }
  [[nodiscard]] bool failed() const { return failed_; }
  std::uint32_t next() {
    if (empty()) {
      failed_ = true;
      return 0;
    }
    return static_cast<unsigned char>(text_[at_++]);
  }
  /// Reads six bits from each byte, lowest first, as in the line table.
  std::uint32_t varint_low_first() {
    std::uint32_t value = 0;
    for (unsigned shift = 0;; shift += 6) {
      const std::uint32_t byte = next();
      if (shift >= 30) failed_ = true;
      if (failed_) return 0;
      value |= (byte & 63u) << shift;
      if ((byte & 64u) == 0) return value;
    }
  }
  std::int64_t signed_varint_low_first() {
    const std::uint32_t value = varint_low_first();
    const std::int64_t magnitude = value >> 1;
    return (value & 1u) != 0 ? -magnitude : magnitude;
  }
  /// Reads six bits from each byte, highest first, as in the exception table.
  std::uint32_t varint_high_first() {
    std::uint32_t value = 0;
    for (;;) {
      const std::uint32_t byte = next();
      if (value >= (1u << 24)) failed_ = true;
      if (failed_) return 0;
      value = (value << 6) | (byte & 63u);
      if ((byte & 64u) == 0) return value;
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// The control flow graph of one code object.
class Graph {
 public:
  Status build(const CodeBody& body);
  /// The instruction at a byte offset, kNone if there is none.
  [[nodiscard]] Index at(std::int64_t offset) const;

  std::vector<Instruction> instructions;

 private:
  Status decode(const CodeBody& body);
  Status place_lines(const CodeBody& body);
  Status place_handlers(const CodeBody& body);
  void pair_comprehensions();
  void link();

  std::vector<Index> owner_;  ///< by code unit: the instruction it belongs to, caches and prefixes included
  std::vector<Index> start_;  ///< by code unit: the instruction that begins there, kNone in a cache
};

Status Graph::build(const CodeBody& body) {
  DCMT_RETURN_IF_ERROR(decode(body));
  DCMT_RETURN_IF_ERROR(place_lines(body));
  DCMT_RETURN_IF_ERROR(place_handlers(body));
  pair_comprehensions();
  link();
  return {};
}

Index Graph::at(std::int64_t offset) const {
  const auto unit = static_cast<std::size_t>(offset / 2);
  return offset >= 0 && unit < owner_.size() ? owner_[unit] : kNone;
}

Status Graph::decode(const CodeBody& body) {
  const OpcodeTable* const table = opcode_table(body.python);
  if (table == nullptr) return malformed("not of Python 3.11 to 3.15");
  const std::size_t units = body.instructions.size() / 2;
  if (units == 0 || body.instructions.size() % 2 != 0) return malformed("no whole number of instructions");
  if (units > std::numeric_limits<std::int32_t>::max()) return malformed("too long");
  owner_.assign(units, kNone);
  start_.assign(units, kNone);

  struct Jump {
    Index from;
    std::int64_t to_unit;
  };
  std::vector<Jump> jumps;
  std::uint32_t extended = 0;
  for (std::size_t unit = 0; unit < units;) {
    const auto opcode = static_cast<unsigned char>(body.instructions[unit * 2]);
    const auto low = static_cast<unsigned char>(body.instructions[unit * 2 + 1]);
    const OpcodeInfo info = (*table)[opcode];
    const auto index = static_cast<Index>(instructions.size());
    const std::size_t next = unit + 1 + info.caches;
    if (info.role == OpcodeRole::kUnknown || info.role == OpcodeRole::kCache) return malformed("unknown instruction");
    if (next > units) return malformed("cut in an instruction");
    start_[unit] = index;
    for (std::size_t i = unit; i < next; ++i) owner_[i] = index;
    const std::uint32_t argument = (extended << 8) | low;
    if (info.role == OpcodeRole::kExtendedArg) {
      if (next == units) return malformed("cut in an instruction");
      extended = argument;
      unit = next;
      continue;
    }
    extended = 0;
    Instruction instruction;
    instruction.role = info.role;
    instruction.argument = argument;
    switch (info.role) {
      case OpcodeRole::kJumpForward:
      case OpcodeRole::kBranchForward:
        jumps.push_back({index, static_cast<std::int64_t>(next) + argument});
        break;
      case OpcodeRole::kJumpBackward:
      case OpcodeRole::kBranchBackward:
        jumps.push_back({index, static_cast<std::int64_t>(next) - argument});
        break;
      case OpcodeRole::kStoreTwoFast:
        instruction.role = OpcodeRole::kStoreFast;
        instruction.argument = argument >> 4;
        instruction.second = argument & 15u;
        break;
      case OpcodeRole::kStoreLoadFast:
        instruction.role = OpcodeRole::kStoreFast;
        instruction.argument = argument >> 4;
        break;
      default:
        break;
    }
    instruction.goes_on = info.role != OpcodeRole::kJumpForward && info.role != OpcodeRole::kJumpBackward &&
                          info.role != OpcodeRole::kReturn && info.role != OpcodeRole::kRaise;
    instructions.push_back(std::move(instruction));
    unit = next;
  }
  for (const Jump& jump : jumps) {
    if (jump.to_unit < 0 || jump.to_unit >= static_cast<std::int64_t>(units)) return malformed("a jump leaves it");
    const Index target = start_[static_cast<std::size_t>(jump.to_unit)];
    if (target == kNone) return malformed("a jump into an instruction");
    instructions[jump.from].jump = target;
  }
  if (instructions.back().goes_on) return malformed("no end");
  return {};
}

/// PEP 626 and PEP 657: entries of (kind, length in code units), each with differences of lines and columns.
Status Graph::place_lines(const CodeBody& body) {
  Bytes table(body.line_table);
  std::size_t unit = 0;
  std::int64_t line = body.first_line;
  int last_line = 0;
  while (!table.empty() && unit < owner_.size()) {
    const std::uint32_t head = table.next();
    if ((head & 0x80u) == 0) return malformed("a line table entry without its mark");
    const std::uint32_t kind = (head >> 3) & 15u;
    const std::size_t end = std::min<std::size_t>(unit + (head & 7u) + 1, owner_.size());
    std::int64_t end_line = 0;
    Position position;
    const auto column = [](std::uint32_t value) { return static_cast<int>(value) - 1; };
    switch (kind) {
      case 15:
        break;  // no position in the source
      case 14:
        line += table.signed_varint_low_first();
        end_line = line + table.varint_low_first();
        position.column = column(table.varint_low_first());
        position.end_column = column(table.varint_low_first());
        break;
      case 13:
        line += table.signed_varint_low_first();
        end_line = line;
        break;
      case 12:
      case 11:
      case 10:
        line += kind - 10;
        end_line = line;
        position.column = static_cast<int>(table.next());
        position.end_column = static_cast<int>(table.next());
        break;
      default: {
        const std::uint32_t byte = table.next();
        end_line = line;
        position.column = static_cast<int>((kind << 3) | ((byte >> 4) & 7u));
        position.end_column = position.column + static_cast<int>(byte & 15u);
      }
    }
    constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
    if (table.failed() || line < -kLimit || line > kLimit || end_line > kLimit) return malformed("bad line table");
    if (kind != 15) {
      position.line = static_cast<int>(line);
      position.end_line = static_cast<int>(end_line);
      last_line = position.line;
    } else {
      position.line = last_line;  // like dis and tracebacks: it belongs to the line before
    }
    for (; unit < end; ++unit) {
      if (start_[unit] != kNone) instructions[owner_[unit]].position = position;
    }
  }
  return {};
}

Status Graph::place_handlers(const CodeBody& body) {
  Bytes table(body.exception_table);
  while (!table.empty()) {
    // The top bit of an entry's first byte is a mark, which the six-bit form ignores.
    const std::size_t start = table.varint_high_first();
    const std::size_t length = table.varint_high_first();
    const std::size_t target = table.varint_high_first();
    table.varint_high_first();  // depth of the stack, and whether the offset is pushed
    if (table.failed()) return malformed("bad exception table");
    if (start + length > owner_.size() || target >= start_.size() || start_[target] == kNone) {
      return malformed("the exception table leaves it");
    }
    for (std::size_t unit = start; unit < start + length; ++unit) instructions[owner_[unit]].handler = start_[target];
  }
  return {};
}

/// An inlined comprehension (since 3.12) saves a variable with the same name on the stack and stores it back at its
/// end. The compiler gives both instructions the position of the whole comprehension; no store inside has this
/// position.
void Graph::pair_comprehensions() {
  std::map<std::pair<std::uint32_t, Position>, Index> clears;
  for (Index i = 0; i < instructions.size(); ++i) {
    const Instruction& clear = instructions[i];
    if (clear.role == OpcodeRole::kClearFast && clear.position.column >= 0) {
      clears[{clear.argument, clear.position}] = i;
    }
  }
  if (clears.empty()) return;
  for (Index i = 0; i < instructions.size(); ++i) {
    Instruction& store = instructions[i];
    if (store.role != OpcodeRole::kStoreFast || store.second != kNone) continue;  // such an end stores a single local
    const auto clear = clears.find({store.argument, store.position});
    if (clear == clears.end()) continue;
    store.clear = clear->second;
    instructions[clear->second].ends.push_back(i);
  }
}

void Graph::link() {
  // Only reachable instructions count: an edge from dead code would add definitions that never happen.
  std::vector<bool> seen(instructions.size());
  std::vector<Index> todo{0};
  seen[0] = true;
  const auto visit = [&](Index next) {
    if (!seen[next]) {
      seen[next] = true;
      todo.push_back(next);
    }
  };
  while (!todo.empty()) {
    const Index i = todo.back();
    todo.pop_back();
    const Instruction& now = instructions[i];
    const bool raises = now.role != OpcodeRole::kNeverRaises && now.role != OpcodeRole::kStoreFast &&
                        now.role != OpcodeRole::kStoreDeref;
    if (!raises) instructions[i].handler = kNone;
    if (now.goes_on) {
      instructions[i + 1].before.push_back(i);
      visit(i + 1);
    }
    if (now.jump != kNone) {
      instructions[now.jump].before.push_back(i);
      visit(now.jump);
    }
    if (now.handler != kNone) {
      instructions[now.handler].raised_before.push_back(i);
      visit(now.handler);
    }
  }
}

/// The begin of a forward search.
struct Search {
  std::vector<Index> next;      ///< reached without an exception
  std::vector<Index> handlers;  ///< reached by an exception
};

/// Answers questions about one variable.
class Variable {
 public:
  Variable(const Graph& graph, std::uint32_t local) : instructions_(graph.instructions), local_(local) {}

  /// Lines of the values that the variable can have while `at` runs: walks back until a definition stops each path.
  [[nodiscard]] std::vector<int> assignments(Index at) const;
  /// Line of the nearest delete after `from` without a store before it.
  [[nodiscard]] std::optional<int> next_delete(const Search& from) const;
  [[nodiscard]] std::optional<int> next_return(const Search& from) const;

 private:
  [[nodiscard]] bool stores(const Instruction& i) const {
    return (i.role == OpcodeRole::kStoreFast || i.role == OpcodeRole::kStoreDeref) &&
           (i.argument == local_ || i.second == local_);
  }
  [[nodiscard]] bool deletes(const Instruction& i) const {
    return (i.role == OpcodeRole::kDeleteFast || i.role == OpcodeRole::kDeleteDeref) && i.argument == local_;
  }
  [[nodiscard]] bool clears(const Instruction& i) const {
    return i.role == OpcodeRole::kClearFast && i.argument == local_;
  }
  /// Searches breadth first from `from`; enters handlers only when nothing else is left. `stop` ends a path, `hit` ends
  /// the search.
  template <class Hit, class Stop>
  [[nodiscard]] std::optional<int> search(const Search& from, Hit hit, Stop stop) const;

  const std::vector<Instruction>& instructions_;
  std::uint32_t local_;
};

std::vector<int> Variable::assignments(Index at) const {
  std::set<int> lines;
  std::vector<bool> seen(instructions_.size());
  std::vector<Index> todo;
  const auto before = [&](Index i) {
    if (!seen[i]) {
      seen[i] = true;
      todo.push_back(i);
    }
  };
  // The state of the variable after instruction i.
  const auto after = [&](Index i) {
    const Instruction& now = instructions_[i];
    if (stores(now)) {
      if (now.clear != kNone) {
        before(now.clear);
      } else if (now.position.line > 0) {
        lines.insert(now.position.line);
      }
    } else if (!deletes(now) && !clears(now)) {
      before(i);
    }
  };
  after(at);
  while (!todo.empty()) {
    const Index i = todo.back();
    todo.pop_back();
    for (const Index previous : instructions_[i].before) after(previous);
    for (const Index previous : instructions_[i].raised_before) before(previous);
  }
  return {lines.begin(), lines.end()};
}

template <class Hit, class Stop>
std::optional<int> Variable::search(const Search& from, Hit hit, Stop stop) const {
  std::vector<bool> seen(instructions_.size());
  std::vector<Index> level;
  std::vector<Index> handlers = from.handlers;
  const auto visit = [&seen](std::vector<Index>& list, Index i) {
    if (!seen[i]) {
      seen[i] = true;
      list.push_back(i);
    }
  };
  for (const Index i : from.next) visit(level, i);
  while (!level.empty() || !handlers.empty()) {
    std::vector<Index> next;
    if (level.empty()) {
      for (const Index handler : handlers) visit(level, handler);
      handlers.clear();
    }
    for (const Index i : level) {
      const Instruction& now = instructions_[i];
      if (hit(now)) return now.position.line;
      if (clears(now)) {
        // The value stays on the stack until the comprehension ends.
        for (const Index end : now.ends) visit(next, end + 1);
        continue;
      }
      if (now.handler != kNone) handlers.push_back(now.handler);
      if (stop(now)) continue;
      if (now.goes_on) visit(next, i + 1);
      if (now.jump != kNone) visit(next, now.jump);
    }
    level = std::move(next);
  }
  return std::nullopt;
}

std::optional<int> Variable::next_delete(const Search& from) const {
  return search(
      from, [this](const Instruction& i) { return deletes(i); }, [this](const Instruction& i) { return stores(i); });
}

std::optional<int> Variable::next_return(const Search& from) const {
  return search(
      from, [](const Instruction& i) { return i.role == OpcodeRole::kReturn; },
      [](const Instruction&) { return false; });
}

}  // namespace

Expected<VariableFlow> variable_flow(const CodeBody& body, int local_index, int offset) {
  Graph graph;
  if (Status status = graph.build(body); !status.ok()) return status.error();
  if (local_index < 0 ||
      (!body.local_names.empty() && static_cast<std::size_t>(local_index) >= body.local_names.size())) {
    return malformed("no such variable");
  }
  const Variable variable(graph, static_cast<std::uint32_t>(local_index));
  VariableFlow flow;
  Search from;
  if (offset < 0) {
    from.next.push_back(0);
  } else {
    const Index at = graph.at(offset);
    if (at == kNone) return malformed("no such instruction");
    const Instruction& now = graph.instructions[at];
    flow.assignment_lines = variable.assignments(at);
    if (now.goes_on) from.next.push_back(at + 1);
    if (now.jump != kNone) from.next.push_back(now.jump);
    if (now.handler != kNone) from.handlers.push_back(now.handler);
    if (now.role == OpcodeRole::kReturn) flow.return_line = now.position.line;
  }
  flow.delete_line = variable.next_delete(from);
  if (!flow.return_line) flow.return_line = variable.next_return(from);
  return flow;
}

}  // namespace dcmt::recorder
