#include "collector/recorder/unwind/native_stacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "trace/base/demangled.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostFrames = 48;
constexpr std::string_view kOwnFile = "libdcmt_native.so";
constexpr std::string_view kInterpreter = "_PyEval_EvalFrameDefault";
/// A limit for the rules that are kept: a program that loads and unloads code all the time.
constexpr std::size_t kMostRules = 1 << 20;

using Registers = std::array<std::optional<std::uint64_t>, kRegisters>;

std::optional<std::uint64_t> word_at(std::string_view stack, std::uint64_t from, std::uint64_t address) {
  if (address < from || address - from > stack.size() || stack.size() - (address - from) < sizeof(std::uint64_t)) {
    return {};
  }
  std::uint64_t word = 0;
  std::memcpy(&word, stack.data() + (address - from), sizeof word);
  return word;
}

}  // namespace

void NativeStacks::add_object(std::uint64_t base, std::string path) {
  std::unique_ptr<File>& file = files_[path];
  if (file == nullptr) file = std::make_unique<File>(path);
  const std::uint64_t end = base + file->elf.end();
  bool replaces = false;
  for (auto other = objects_.begin(); other != objects_.end();) {
    const bool is_gone = other->first < end && base < other->second.end;
    if (is_gone && other->first == base && other->second.path == path) return;
    replaces = replaces || is_gone;
    other = is_gone ? objects_.erase(other) : std::next(other);
  }
  if (replaces) rules_.clear();
  const bool is_ours = path.ends_with(kOwnFile);
  objects_[base] = {end, std::move(path), file.get(), is_ours};
}

const std::pair<const std::uint64_t, NativeStacks::Object>* NativeStacks::object_at(std::uint64_t address) const {
  const auto after = objects_.upper_bound(address);
  if (after == objects_.begin()) return nullptr;
  const auto found = std::prev(after);
  return address < found->second.end ? &*found : nullptr;
}

const scan::FileFunction* NativeStacks::function_at(File& file, std::uint64_t value) {
  if (!file.functions) file.functions = file.elf.functions();
  return scan::function_at(*file.functions, value);
}

const NativeStacks::Rules& NativeStacks::rules_at(std::uint64_t call) {
  if (rules_.size() > kMostRules) rules_.clear();
  const auto [entry, is_new] = rules_.try_emplace(call);
  Rules& rules = entry->second;
  const auto* object = is_new ? object_at(call) : nullptr;
  if (object == nullptr) return rules;
  rules.is_ours = object->second.is_ours;
  const std::uint64_t value = call - object->first;
  const scan::FileFunction* function = function_at(*object->second.file, value);
  rules.is_interpreter = function != nullptr && function->name.starts_with(kInterpreter);
  if (const std::optional<FrameRules> found = frame_rules(object->second.file->elf, value)) {
    rules.is_known = true;
    rules.rules = *found;
  }
  return rules;
}

std::vector<std::uint64_t> NativeStacks::walk(const wire::StackRegisters& registers, std::string_view stack) {
  std::vector<std::uint64_t> calls;
  Registers values;
  values[kRbx] = registers.rbx;
  values[kRbp] = registers.rbp;
  values[kRsp] = registers.rsp;
  values[12] = registers.r12;
  values[13] = registers.r13;
  values[14] = registers.r14;
  values[15] = registers.r15;
  std::uint64_t call = registers.rip;
  while (calls.size() < kMostFrames) {
    const Rules& here = rules_at(call);
    if (here.is_interpreter || (!here.is_known && object_at(call) == nullptr)) break;
    if (!here.is_ours) calls.push_back(call);
    if (!here.is_known || !values[here.rules.base]) break;
    const std::uint64_t frame = *values[here.rules.base] + static_cast<std::uint64_t>(here.rules.offset);
    Registers next = values;
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const RegisterRule& rule = here.rules.registers[i];
      if (rule.kind == RegisterRule::Kind::kUnknown) next[i] = {};
      if (rule.kind == RegisterRule::Kind::kSaved) {
        next[i] = word_at(stack, registers.rsp, frame + static_cast<std::uint64_t>(rule.offset));
      }
    }
    if (!next[kReturn] || *next[kReturn] == 0 || frame <= *values[kRsp]) break;
    next[kRsp] = frame;
    call = *next[kReturn] - 1;  // in the instruction that calls
    next[kReturn] = {};
    values = next;
  }
  return calls;
}

UnwoundFrame NativeStacks::name(std::uint64_t call) {
  UnwoundFrame frame;
  const auto* object = object_at(call);
  if (object == nullptr) return frame;
  frame.object = object->second.path;
  frame.offset = call - object->first;
  std::uint64_t in_function = 0;
  if (const scan::FileFunction* function = function_at(*object->second.file, frame.offset)) {
    frame.offset -= function->begin;
    in_function = frame.offset;
    const std::string name(function->name);
    frame.function = demangled(name).value_or(name);
  }
  File& file = *object->second.file;
  if (!file.lines) file.lines.emplace(file.elf);
  if (const std::optional<SourceLine> line = file.lines->at(call - object->first, call - object->first - in_function)) {
    frame.file = line->file;
    frame.line = line->line;
  }
  return frame;
}

}  // namespace dcmt::recorder
