#include "analyzer/growth/next_values.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>

#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Bounds the work for a long run with many variables: what is asked later is not known then.
constexpr std::size_t kMostVisited = 20'000'000;  // events

constexpr std::string_view kGraph = ".grad_fn", kEdge = "→ ", kSavedField = "._saved_", kSuspended = "_frame ";

/// "a", "b" and "c" of "a.b[0].c", apart from what Python names itself.
std::vector<std::string_view> names_along(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view name = path.substr(0, end);
    if (is_name(name) && !name.starts_with("__")) names.push_back(name);
    path.remove_prefix(end);
    while (path.starts_with('[')) path.remove_prefix(std::min(behind_brackets(path, 0), path.size()));
    if (path.starts_with('.')) path.remove_prefix(1);
    if (path.starts_with(' ')) break;
  }
  return names;
}

/// The statements of a function that run unseen between two events of it.
class Unseen {
 public:
  Unseen(const PythonSource& source, const std::vector<std::size_t>& statements)
      : source_(source), statements_(statements) {}

  [[nodiscard]] bool between(std::size_t from, std::size_t to) const {
    return std::ranges::any_of(statements_, [&](std::size_t each) { return from < each && each < to; });
  }
  /// From one turn of a loop to a later one.
  [[nodiscard]] bool in_loop(std::size_t loop, std::size_t from, std::size_t to) const {
    const std::size_t end = source_.end_of_block(loop);
    return between(from, end + 1) || between(loop - 1, to);
  }
  [[nodiscard]] bool before(std::size_t to) const { return between(0, to); }
  [[nodiscard]] bool behind(std::size_t from) const {
    const std::string_view statement = trimmed(source_.lines()[from - 1].bare);
    return !has_name(statement.substr(0, 7), "return") && between(from, npos);
  }

 private:
  const PythonSource& source_;
  const std::vector<std::size_t>& statements_;
};

}  // namespace

NextValues::NextValues(const TraceData& data, const StatementUse& program)
    : data_(data), program_(program), backwards_(Rounds::backwards(data)) {
  for (const auto& [file, source] : program.sources()) {
    for (const PythonSource::Line& line : source.lines()) {
      if (&source.lines()[line.statement] != &line) continue;
      const std::string_view code = source.statement_of(line);
      const auto add = [&, file = file](std::map<std::string_view, Statements>& by_name, std::string_view name) {
        by_name[name][{file, line.function}].push_back(line.number);
      };
      for (const std::string_view name : names_given_by(trimmed(code))) add(variables_, name);
      for (const std::string_view name : attributes_given_by(trimmed(code))) add(attributes_, name);
    }
  }
}

std::vector<const NextValues::Changes*> NextValues::on(std::string_view path) {
  std::vector<const Changes*> all;
  if (path.find(kSuspended) != npos) return all;
  path = path.substr(0, path.find(kGraph));
  const auto add = [&](const Changes& changes) {
    if (!changes.at.empty() || !changes.complete) all.push_back(&changes);
  };
  const std::size_t root = path.find(": ");
  std::vector<std::string_view> names = names_along(root == npos ? path : path.substr(root + 2));
  if (root == npos && !names.empty()) names.erase(names.begin());  // the module
  if (names.empty()) return all;
  add(root == npos ? of_global(names.front()) : of_local(path.substr(0, root), names.front()));
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool is_of_new_object = !all.empty() && only_constructors_give(names[i]);
    if (!is_of_new_object) add(of_attribute(names[i]));
  }
  return all;
}

const NextValues::Statements& NextValues::giving(const std::map<std::string_view, Statements>& by_name,
                                                 std::string_view name) const {
  static const Statements kNone;
  const auto found = by_name.find(name);
  return found != by_name.end() ? found->second : kNone;
}

bool NextValues::nothing_between(Sequence from, Sequence to) const {
  const auto next = std::ranges::upper_bound(program_.events(), from, {}, &StatementUse::Event::seq);
  return next == program_.events().end() || next->seq >= to;
}

bool NextValues::only_constructors_give(std::string_view attribute) const {
  const Statements& all = giving(attributes_, attribute);
  return !all.empty() && std::ranges::all_of(all, [&](const auto& each) {
    const PythonSource& source = program_.sources().at(each.first.first);
    return source.function_of(source.lines()[each.second.front() - 1]) == "__init__";
  });
}

bool NextValues::reads_attribute(std::string_view name) const {
  const std::string attribute = "." + std::string(name);
  const auto reads = [&](std::string_view code) {
    for (std::size_t at = code.find(attribute); at != npos; at = code.find(attribute, at + 1)) {
      const std::size_t end = at + attribute.size();
      if (end == code.size() || !is_of_name(code[end])) return true;
    }
    return false;
  };
  return std::ranges::any_of(program_.sources(), [&](const auto& source) {
    return std::ranges::any_of(source.second.lines(), [&](const PythonSource::Line& line) {
      const std::size_t equal = equal_sign(line.bare, 0);
      return reads(line.bare.substr(equal == npos ? 0 : equal));
    });
  });
}

std::set<NextValues::Function> NextValues::functions_of(std::string_view name) const {
  std::set<Function> functions;
  for (const Frame& frame : data_.frames) {
    if (data_.text(frame.function) != name) continue;
    const auto source = program_.sources().find(frame.file);
    const auto number = static_cast<std::size_t>(frame.line);
    if (source == program_.sources().end() || source->second.statement_at(number) == 0) continue;
    functions.insert({frame.file, source->second.lines()[number - 1].function});
  }
  return functions;
}

bool NextValues::is_library(std::string_view function) {
  if (program_.sources().empty()) return false;
  const auto [found, is_new] = libraries_.try_emplace(std::string(function));
  if (is_new) found->second = functions_of(function).empty();
  return found->second;
}

const NextValues::Changes& NextValues::of_local(std::string_view function, std::string_view name) {
  const auto [found, is_new] = changes_.try_emplace(std::string(function) + ": " + std::string(name));
  if (!is_new) return found->second;
  const Statements& all = giving(variables_, name);
  for (const Function& each : functions_of(function)) {
    const auto statements = all.find(each);
    add_changes(each, statements != all.end() ? statements->second : std::vector<std::size_t>(), each.second != 0,
                found->second);
  }
  return found->second;
}

const NextValues::Changes& NextValues::of_global(std::string_view name) {
  const auto [found, is_new] = changes_.try_emplace(std::string(name));
  if (!is_new) return found->second;
  for (const auto& [function, statements] : giving(variables_, name)) {
    if (function.second == 0) add_changes(function, statements, false, found->second);
  }
  return found->second;
}

const NextValues::Changes& NextValues::of_attribute(std::string_view name) {
  const auto [found, is_new] = changes_.try_emplace("." + std::string(name));
  if (!is_new) return found->second;
  for (const auto& [function, statements] : giving(attributes_, name))
    add_changes(function, statements, false, found->second);
  return found->second;
}

std::vector<Sequence> NextValues::runs_of(StringId file, std::size_t line) {
  const auto source = program_.sources().find(file);
  const std::size_t statement = source != program_.sources().end() ? source->second.statement_at(line) : 0;
  if (statement == 0) return {};
  Changes runs;
  add_changes({file, source->second.lines()[line - 1].function}, {statement}, false, runs);
  return runs.complete ? runs.at : std::vector<Sequence>();
}

NextValues::At NextValues::at(const Function& function, StackId id) const {
  At at;
  std::vector<StackId> inside;
  for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    at.root = stack->frame;
    const auto [source, number] = program_.at(*stack);
    const Frame* frame = data_.frames.find(stack->frame);
    if (source != nullptr && frame->file == function.first && source->statement_at(number) != 0 &&
        source->lines()[number - 1].function == function.second) {
      at.caller = stack->parent;  // of the outermost: a comprehension is a function of its own
      at.line = source->statement_at(number);
      at.inside = inside;
    }
    inside.push_back(stack->id);
  }
  std::ranges::reverse(at.inside);
  return at;
}

void NextValues::add_changes(const Function& function, const std::vector<std::size_t>& statements, bool is_local,
                             Changes& changes) {
  const StatementUse::Events& events = program_.events();
  visited_ += events.size();
  if (visited_ > kMostVisited) {
    changes.complete = false;
    return;
  }
  const PythonSource& source = program_.sources().at(function.first);
  std::unordered_map<StackId, At> known;
  const auto at_event = [&](StackId stack) -> const At& {
    const auto [found, is_new] = known.try_emplace(stack);
    if (is_new) found->second = at(function, stack);
    return found->second;
  };
  const auto actor_of = [](const StatementUse::Event& event) {
    return event.ends ? event.storage->end : event.storage->birth;
  };
  std::set<std::size_t> seen;  // statements that make something
  for (const StatementUse::Event& event : events) {
    if (!event.ends) seen.insert(at_event(event.storage->birth.stack).line);
  }
  std::vector<std::size_t> unseen_ones;
  std::ranges::copy_if(statements, std::back_inserter(unseen_ones),
                       [&](std::size_t each) { return !seen.contains(each); });
  const Unseen unseen(source, unseen_ones);
  const auto gives_between = [&](std::size_t first, std::size_t last) {
    const auto at = std::ranges::lower_bound(statements, first);
    return at != statements.end() && *at <= last;
  };
  const auto gives = [&](std::size_t line) { return std::ranges::binary_search(statements, line); };

  const At nowhere;
  struct State {
    const At* at;
    std::size_t event = 0;
  };
  std::map<ThreadId, State> threads;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Actor actor = actor_of(events[i]);
    if (!actor.stack.valid()) continue;
    const At& here = at_event(actor.stack);
    State& state = threads.try_emplace(actor.thread, State{&nowhere, 0}).first->second;
    const At& last = *state.at;
    if (last.line == 0 && here.line == 0) continue;
    const auto is_other_root = [&] {
      const Frame *a = data_.frames.find(last.root), *b = data_.frames.find(here.root);
      return a == nullptr || b == nullptr || a->file != b->file || a->function != b->function;
    };
    if (last.line != 0 && is_other_root()) continue;  // of an incomplete stack
    const bool stays = last.line != 0 && here.line != 0 && last.caller == here.caller;
    bool again = false;
    if (stays && here.line == last.line && !events[i].ends) {
      const std::optional<bool> anew = begins_anew(last, here);
      again = anew.value_or(false);
      if (!anew && gives(here.line)) changes.complete = false;
    }
    const std::size_t loop = stays && (here.line < last.line || again) ? source.loop_around(here.line, last.line) : 0;
    // It may have been called again.
    if (changes.complete && loop != 0 && is_local && !gives_between(loop, source.end_of_block(loop)) &&
        is_called_in_loop(here))
      changes.complete = false;
    const bool ends = last.line != 0 && (!stays || (here.line < last.line && loop == 0));
    bool changed = false;
    if (ends) {
      changed = is_local || gives(last.line) || unseen.behind(last.line);
    } else if (stays && (here.line != last.line || again)) {
      changed = gives(last.line) ||
                (loop != 0 ? unseen.in_loop(loop, last.line, here.line) : unseen.between(last.line, here.line));
    }
    if (here.line != 0 && (ends || last.line == 0)) changed |= unseen.before(here.line);
    if (changed) {
      // What other threads make meanwhile may follow from it.
      std::size_t next_one = last.line != 0 ? state.event + 1 : i;
      while (next_one < i && (events[next_one].ends || events[next_one].storage->birth.thread == actor.thread))
        ++next_one;
      const StatementUse::Event& next = events[next_one];
      changes.at.push_back(next.ends ? next.seq : begin_of(data_, *next.storage));
    }
    state = {&here, i};
  }
  std::ranges::sort(changes.at);
  changes.at.erase(std::unique(changes.at.begin(), changes.at.end()), changes.at.end());
}

bool NextValues::is_called_in_loop(const At& at) const {
  for (const Stack* stack = data_.stacks.find(at.caller); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
    const auto [source, line] = program_.at(*stack);
    if (source != nullptr && (source->loop_around(line, line) != 0 || source->is_loop(line))) return true;
  }
  return false;
}

std::optional<bool> NextValues::begins_anew(const At& before, const At& after) const {
  bool in_loop = false;
  for (std::size_t i = 0;; ++i) {
    const Stack* a = i < before.inside.size() ? data_.stacks.find(before.inside[i]) : nullptr;
    const Stack* b = i < after.inside.size() ? data_.stacks.find(after.inside[i]) : nullptr;
    if (a == nullptr && b == nullptr) return in_loop ? std::optional<bool>() : true;
    if (a == nullptr || b == nullptr) return std::nullopt;
    const Frame *from = data_.frames.find(a->frame), *to = data_.frames.find(b->frame);
    if (from == nullptr || to == nullptr || from->file != to->file || from->function != to->function) return false;
    const auto [source, line] = program_.at(*a);
    const auto next = static_cast<std::size_t>(to->line);
    if (source == nullptr) return from->line < to->line ? std::optional(false) : std::nullopt;
    if (line < next) return false;
    in_loop |= source->loop_around(next, line) != 0;
    if (next < line) return in_loop ? std::optional<bool>() : true;
  }
}

Sequence NextValues::end_of_function(std::string_view variable, Sequence after) {
  const std::size_t root = variable.find(": ");
  if (root == npos) return {};
  const auto [found, is_new] = calls_.try_emplace(std::string(variable.substr(0, root)));
  auto& [function, calls] = *found;
  if (is_new) {
    std::unordered_map<StackId, bool> known;
    std::set<ThreadId> threads;  // in a call
    for (const StatementUse::Event& event : program_.events()) {
      const auto& [thread, id] = std::pair(event.storage->birth.thread, event.storage->birth.stack);
      if (event.ends || !id.valid()) continue;
      const auto [at, is_first] = known.try_emplace(id);
      const Stack* stack = is_first ? data_.stacks.find(id) : nullptr;
      for (; stack != nullptr && !at->second; stack = data_.stacks.find(stack->parent)) {
        const Frame* frame = data_.frames.find(stack->frame);
        at->second = frame != nullptr && data_.text(frame->function) == function;
      }
      at->second ? void(threads.insert(thread)) : void(threads.erase(thread));
      if (calls.empty() || calls.back().second == threads.empty()) calls.emplace_back(event.seq, !threads.empty());
    }
  }
  auto call = std::ranges::upper_bound(calls, after, {}, [](const auto& each) { return each.first; });
  if (call != calls.begin() && !std::prev(call)->second) return after;
  while (call != calls.end() && call->second) ++call;
  return call != calls.end() ? call->first : Sequence();
}

Sequence NextValues::end_of_call(std::string_view function, const Storage& storage) const {
  const Stack* call = data_.stacks.find(storage.birth.stack);
  const auto is_of = [&](const Stack& stack) {
    const Frame* frame = data_.frames.find(stack.frame);
    return frame != nullptr && data_.text(frame->function) == function;
  };
  while (call != nullptr && !is_of(*call)) call = data_.stacks.find(call->parent);
  if (call == nullptr) return {};
  const auto has_call = [&](StackId id) {
    for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
      if (stack->parent == call->parent && is_of(*stack)) return true;
    }
    return false;
  };
  const StatementUse::Events& events = program_.events();
  auto event = std::ranges::upper_bound(events, storage.span.from_seq, {}, &StatementUse::Event::seq);
  for (; event != events.end(); ++event) {
    const Actor& birth = event->storage->birth;
    if (event->ends || birth.thread != storage.birth.thread || !birth.stack.valid()) continue;
    // The same statement again: of another call, or of a loop that gives the variable its next value.
    if (birth.stack == storage.birth.stack || !has_call(birth.stack)) return event->seq;
  }
  return {};
}

const NextValues::Changes* NextValues::on_node(std::string_view path) {
  const std::size_t field = path.find(kSavedField);
  if (field == npos) return nullptr;
  path = path.substr(0, field);
  const std::size_t edge = path.rfind(kEdge);
  const std::string_view node = edge != npos ? path.substr(edge + kEdge.size()) : path.substr(path.rfind(' ') + 1);
  const auto [found, is_new] = nodes_.try_emplace(std::string(node));
  if (is_new) {
    std::map<std::size_t, Sequence> done;  // by backward pass
    for (const Operator& op : data_.operators) {
      if (op.scope != OperatorScope::kBackward || !op.span.ended() || data_.text(op.name) != node) continue;
      Sequence& last = done[backwards_.at(op.span.from_seq)];
      last = std::max(last, op.span.to_seq);
    }
    for (const auto& [pass, last] : done) found->second.at.push_back(last);
  }
  return &found->second;
}

}  // namespace dcmt::analyzer
