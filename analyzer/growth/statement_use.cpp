#include "analyzer/growth/statement_use.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

using Kind = PythonSource::Fate::Kind;

bool is_same_function(const Frame& frame, StringId file, StringId function) {
  return frame.file == file && frame.function == function;
}

FrameId root_of(const TraceData& data, StackId id) {
  FrameId root;
  for (const Stack* stack = data.stacks.find(id); stack != nullptr; stack = data.stacks.find(stack->parent))
    root = stack->frame;
  return root;
}

}  // namespace

StatementUse::StatementUse(const TraceData& data, const GrowingSites& growing) : data_(data) {
  for (const SourceFile& source : data.sources) {
    if (!is_library_file(data.text(source.path))) sources_.try_emplace(source.path, source.text);
  }
  if (sources_.empty() || growing.sites.empty()) return;
  for (const Storage& storage : data.storages) {
    if (storage.bytes.value == 0) continue;
    events_.push_back({storage.span.from_seq, &storage, false});
    if (storage.span.ended()) events_.push_back({storage.span.to_seq, &storage, true});
  }
  std::ranges::sort(events_, {}, &Event::seq);
  for (const auto& [stack, site] : growing.sites) {
    for (const Living& living : site.living) kept_.insert(living.storage->id);
  }
}

std::pair<const PythonSource*, std::size_t> StatementUse::at(const Stack& stack) const {
  const Frame* frame = data_.frames.find(stack.frame);
  const auto source = frame != nullptr ? sources_.find(frame->file) : sources_.end();
  return source != sources_.end() ? std::pair(&source->second, static_cast<std::size_t>(frame->line))
                                  : std::pair<const PythonSource*, std::size_t>();
}

bool StatementUse::deletes(StackId id) const {
  for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    const auto [source, line] = at(*stack);
    if (source != nullptr && source->deletes_what_is_made_at(line)) return true;
  }
  return false;
}

std::set<std::string_view> StatementUse::given_values(StackId id) const {
  const Stack* stack = data_.stacks.find(id);
  if (stack == nullptr) return {};
  const auto [source, line] = at(*stack);
  return source != nullptr ? source->given_values_at(line) : std::set<std::string_view>();
}

std::optional<StatementUse::Statement> StatementUse::statement_of(StackId id) const {
  bool direct = true, own = false;
  StackId given_at;
  for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    const Frame* frame = data_.frames.find(stack->frame);
    if (frame == nullptr) return std::nullopt;
    if (!is_library_file(data_.text(frame->file))) {
      own |= direct;
      const auto [source, number] = at(*stack);
      if (source == nullptr) return std::nullopt;
      const PythonSource::Fate fate = source->fate_of_what_is_made_at(number);
      const bool by_variable = fate.kind == Kind::kNamed && source->returns(number, fate.name);
      const bool is_returned = fate.kind == Kind::kReturned || by_variable;
      if (by_variable && !given_at.valid() && source->gives_once(number, fate.name)) given_at = stack->id;
      if (!is_returned) {
        return Statement{.source = source,
                         .file = frame->file,
                         .function = frame->function,
                         .caller = stack->parent,
                         .root = root_of(data_, id),
                         .line = source->statement_at(number),
                         .direct = direct,
                         .own = own,
                         .given_at = given_at,
                         .fate = fate,
                         .deleted_with = source->deleted_with(number, fate.name)};
      }
    }
    direct = false;
  }
  return std::nullopt;
}

StatementUse::Beside StatementUse::beside(const Statement& statement, StackId id) const {
  const Frame* root = nullptr;
  for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    root = data_.frames.find(stack->frame);
    if (root == nullptr) return {};
    if (stack->parent != statement.caller || !is_same_function(*root, statement.file, statement.function)) continue;
    const auto number = static_cast<std::size_t>(root->line);
    const PythonSource::Fate fate = statement.source->fate_of_what_is_made_at(number);
    return {.known = true,
            .line = statement.source->statement_at(number),
            .given = fate.kind == Kind::kNamed ? fate.name : std::string_view()};
  }
  const Frame* of_statement = data_.frames.find(statement.root);
  const bool is_complete =
      root != nullptr && of_statement != nullptr && is_same_function(*root, of_statement->file, of_statement->function);
  return {.known = is_complete};
}

bool StatementUse::is_on_the_way(const Statement& statement, StackId id) const {
  const Stack* given = data_.stacks.find(statement.given_at);
  if (given == nullptr) return true;
  const auto [source, line] = at(*given);
  for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    if (stack->parent != given->parent) continue;
    const auto [other, number] = at(*stack);
    return other == source && source->statement_at(number) == source->statement_at(line);
  }
  return true;
}

const StatementUse::Beside& StatementUse::beside(Statement& statement, const Storage& made) const {
  const auto [found, is_new] = statement.beside.try_emplace(made.birth.stack);
  if (is_new) found->second = beside(statement, made.birth.stack);
  return found->second;
}

StatementUse::Events::const_iterator StatementUse::after(Sequence seq) const {
  return std::ranges::upper_bound(events_, seq, {}, &Event::seq);
}

std::optional<StatementUse::Use> StatementUse::of_value(Statement& statement, const Storage& value) const {
  const std::string_view name = statement.fate.name;
  if (statement.source->gives_to_another(statement.line, name)) return std::nullopt;
  Sequence next;                // when a statement made the variable's next value
  Sequence deleted;             // the last end of what is deleted together with it
  std::set<std::size_t> ended;  // lines that had made that
  Beside last = {.known = true, .line = statement.line, .given = name};  // what was made last
  bool is_same_run = statement.given_at.valid();  // the call goes on behind the statement that gave it the value
  for (auto event = after(value.span.from_seq); event != events_.end(); ++event) {
    if (event->storage->birth.thread != value.birth.thread || event->storage == &value) continue;
    const Beside& here = beside(statement, *event->storage);
    if (event->ends) {
      if (next.valid()) break;
      // What ends after the variable's next value was made has been replaced.
      const bool is_deleted = here.given != last.given && statement.deleted_with.contains(here.given);
      if (!is_deleted || here.given == name) continue;
      deleted = event->seq;
      ended.insert(here.line);
      continue;
    }
    if (!here.known) continue;
    is_same_run &= here.line == statement.line;
    if (is_same_run) continue;
    if (next.valid() && (here.line != last.line || statement.direct)) break;
    if (here.line == 0 && statement.deleted_with.empty()) return Use{event->seq, name};
    if (here.line == 0 || (here.line != last.line && ended.contains(here.line))) break;  // the loop's next turn
    last = here;
    if (here.given == name) next = event->seq;
  }
  if (statement.deleted_with.empty()) return Use{next, name};
  // Where nothing else ended, its end is unknown.
  return deleted.valid() ? std::optional(Use{deleted, name}) : std::nullopt;
}

std::optional<StatementUse::Use> StatementUse::of(Statement& statement, const Storage& storage) const {
  // Who keeps a graph keeps what no variable has any more.
  const Held* held = data_.owners.of(storage.id);
  const bool is_saved = held != nullptr && held->role == kSavedForBackward;
  if (is_saved || statement.fate.kind == Kind::kUnknown) return std::nullopt;
  std::vector<const Storage*> then;  // what the same run of the statement makes after it
  Sequence left;                     // when this run of the statement had ended
  for (auto event = after(storage.span.from_seq); event != events_.end(); ++event) {
    if (event->ends || event->storage->birth.thread != storage.birth.thread) continue;
    const Beside& here = beside(statement, *event->storage);
    if (!here.known) continue;
    if (here.line != statement.line) {
      left = event->seq;
      break;
    }
    if (event->storage->birth.stack == storage.birth.stack) {
      if (statement.direct) break;  // the next run
      return std::nullopt;          // this run or the next one
    }
    if (is_on_the_way(statement, event->storage->birth.stack)) then.push_back(event->storage);
  }
  if (statement.fate.kind == Kind::kDropped) {
    if (!statement.own) return std::nullopt;  // a library may keep it for itself
    return Use{then.empty() ? storage.span.from_seq : then.back()->span.from_seq, {}};
  }
  if (then.empty()) return of_value(statement, storage);
  // It is on the way to the value, like the others: until the next one is made, or while a graph has them.
  then.pop_back();
  if (then.empty()) return std::nullopt;
  Sequence until = then.front()->span.from_seq;
  for (const Storage* each : then) {
    if (!each->span.ended() || kept_.contains(each->id)) return std::nullopt;
    if (left.valid() && each->span.to_seq >= left) until = std::max(until, each->span.to_seq);
  }
  return Use{until, {}};
}

const Storage* StatementUse::replaced_by(const Statement& statement, const Storage& value) const {
  if (statement.fate.kind != Kind::kNamed) return nullptr;
  const Storage* oldest = nullptr;
  for (auto event = after(value.span.from_seq); event != events_.end(); ++event) {
    if (event->storage->birth.thread != value.birth.thread) continue;
    if (!event->ends) break;
    if (oldest == nullptr || event->storage->span.from_seq < oldest->span.from_seq) oldest = event->storage;
  }
  return oldest;
}

}  // namespace dcmt::analyzer
