#include "analyzer/source/stored_by.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "analyzer/source/found_by_way.h"
#include "analyzer/source/holder_path.h"
#include "analyzer/source/other_names.h"
#include "analyzer/source/parameters.h"
#include "analyzer/source/putting.h"
#include "analyzer/source/user_files.h"
#include "trace/base/cycle_text.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t kLongestText = 100;  ///< of a statement, characters

StoringStatement statement(const FoundLine& found) {
  const auto& [file, line] = found;
  return {.site = std::string(file->name) + ":" + std::to_string(line->number),
          .text = printable(line->text.substr(0, kLongestText)),
          .file = file->path,
          .line = line->number};
}

/// The text in the quotes of "['logits']…" or "[\"logits\"]…"; empty if the text does not begin so.
std::string_view text_key(std::string_view entry) {
  if (entry.size() < 2 || entry[0] != '[' || (entry[1] != '\'' && entry[1] != '"')) return {};
  const std::size_t end = entry.find(entry[1], 2);
  return end == npos ? std::string_view() : entry.substr(2, end - 2);
}

/// True if the text has entries of `name` by other keys than the holder: `metrics["loss"].append(…)` puts nothing into
/// "main: metrics['logits']".
bool names_other_key(std::string_view text, std::string_view name, std::string_view holder) {
  const std::string_view key = text_key(holder.substr(std::min(holder.rfind(name) + name.size(), holder.size())));
  bool other = false;
  for (std::size_t at = text.find(name); !key.empty() && at != npos; at = text.find(name, at + 1)) {
    const std::string_view there = text_key(text.substr(at + name.size()));
    if (there == key) return false;
    other |= !there.empty();
  }
  return other;
}

/// "main.sample.__defaults__[0]": the parameter whose default value the holder is.
PathEnd parameter_of(const UserFile& file, std::string_view holder) {
  constexpr std::string_view kDefaults = ".__defaults__[", kWrapped = ".__wrapped__";
  const std::size_t defaults = holder.find(kDefaults);
  if (defaults == npos) return {};
  std::size_t number = 0;
  for (std::size_t i = defaults + kDefaults.size(); i < holder.size() && holder[i] >= '0' && holder[i] <= '9'; ++i)
    number = 10 * number + static_cast<std::size_t>(holder[i] - '0');
  std::string_view path = holder.substr(0, defaults);
  while (path.ends_with(kWrapped)) path.remove_suffix(kWrapped.size());
  PathEnd end;
  end.function = last_name(path);
  const std::vector<std::string_view> definitions = definitions_of(file.source, end.function);
  if (!definitions.empty()) end.name = parameter_with_default(definitions.front(), number);
  return end;
}

FoundLines statements_in(const UserFile& file, std::string_view holder) {
  PathEnd target = end_of_path(holder);
  if (target.name.empty()) target = parameter_of(file, holder);
  if (target.name.empty()) return {};
  FoundLines found = lines_of(file, [&](const PythonSource::Line& line) {
    const bool counts = target.function.empty() || file.source.is_within(line, target.function);
    return counts && puts_into(line.bare, target) && !names_other_key(line.text, target.name, holder);
  });
  // `rows = self.samples.setdefault(key, [])` is not what fills the list.
  const auto names_it = [&](const FoundLine& each) { return !other_names_of(each.line->bare, target).empty(); };
  if (std::ranges::all_of(found, names_it)) {
    if (FoundLines others = by_other_variables(file, target); !others.empty()) found = std::move(others);
  }
  if (!found.empty() || target.link.empty()) return found;
  return lines_of(file, [&](const PythonSource::Line& line) {
    return attributes_given_by(trimmed(line.bare)).contains(target.link);
  });
}

/// Statements of the same object that use what it has: `torch.cat(self.rows)` where `self.rows.append(x)` stores.
FoundLines entries_used_in(const UserFile& file, const FoundLines& statements, std::string_view holder) {
  PathEnd target = end_of_path(holder);
  if (target.name.empty()) target = parameter_of(file, holder);
  if (target.name.empty() || !target.link.empty()) return {};
  const auto is_there = [&](const FoundLine& each) { return each.file == &file; };
  if (target.function.empty() && std::ranges::none_of(statements, is_there)) return {};
  return lines_of(file, [&](const PythonSource::Line& line) {
    const bool counts = target.function.empty() || file.source.is_within(line, target.function);
    return counts && uses_entries(line.bare, target);
  });
}

/// Statements by a variable that has the name of the holder's attribute, as `box.put(x)` for "actor.box": programs give
/// an object the same name wherever they have it.
FoundLines by_own_name(const UserFiles& files, std::string_view holder) {
  const PathEnd end = end_of_path(holder);
  if (end.name.empty() || !end.attribute || !end.link.empty()) return {};
  return files.everywhere([&](const UserFile& file) {
    return lines_of(file, [&](const PythonSource::Line& line) {
      const std::string_view function = file.source.function_of(line);
      return !function.empty() && puts_into(line.bare, {.name = end.name, .function = function, .is_parameter = true});
    });
  });
}

/// False for a statement that a module runs once.
bool may_run_again(const FoundLine& found) {
  const std::size_t number = found.line->number;
  return !found.file->source.function_of(*found.line).empty() || found.file->source.loop_around(number, number) != 0;
}

/// Calls of methods that are named after a collection from the holder on: `log.addHandler(h)` after "log.handlers[0]".
FoundLines added_by_name(const UserFiles& files, std::string_view holder, std::string_view way) {
  const std::set<std::string_view> collections = attributes_from_holder(holder, way);
  return files.everywhere([&](const UserFile& file) {
    return lines_of(file, [&](const PythonSource::Line& line) { return adds_by_name(line.bare, collections); });
  });
}

/// Statements that use an object of the path: they call one of its methods, or give it an entry.
/// @param with_values  only those that can give it what was made
FoundLines uses_in(const UserFile& file, std::string_view holder, bool with_values) {
  const std::set<std::string_view> names = names_on_path(holder);
  return lines_of(file, [&](const PythonSource::Line& line) {
    const bool has_value = !with_values || file.values.names_one(line);
    if (!has_value && !file.innermost.contains(line.number)) return false;
    return puts_into_one_of(line.bare, names) || calls_one_of(line.bare, names, [&](std::string_view arguments) {
             return has_value || make_something(arguments);
           });
  });
}

/// Statements that give an object of the path what was made: an entry; else by a call of which nothing has the result.
FoundLines gifts_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> names = names_on_path(holder);
  FoundLines found = lines_of(file, [&](const PythonSource::Line& line) {
    return file.values.names_one(line) && puts_into_one_of(line.bare, names);
  });
  if (!found.empty()) return found;
  // `net, opt = pool.prepare(net, opt)` is given it, `pool.backward(loss)` only what was computed from it.
  const auto with_arguments = [](std::string_view arguments) { return arguments.size() > 2; };
  const bool is_cycle = !links_of_cycle(holder).empty();
  found = lines_of(file, [&](const PythonSource::Line& line) {
    return !is_cycle && file.values.names_itself(line) && !file.values.makes(line) &&
           calls_one_of(line.bare, names, with_arguments);
  });
  if (!found.empty()) return found;
  return lines_of(file, [&](const PythonSource::Line& line) {
    const bool has_one = std::ranges::any_of(names, [&](std::string_view name) { return has_name(line.bare, name); });
    return has_one && file.values.passes_one(line);
  });
}

/// Statements that pass on a function which keeps what was made: `net.register_forward_hook(lambda m, i, o: o *
/// scale)`.
FoundLines captures_in(const UserFile& file, std::string_view) {
  return lines_of(file, [&](const PythonSource::Line& line) { return file.values.passes_function_with_one(line); });
}

/// Statements that give an attribute of a cycle what was made: `ctx.out = y`.
FoundLines links_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> links = links_of_cycle(holder);
  return lines_of(file, [&](const PythonSource::Line& line) {
    const auto given = attributes_given_by(trimmed(line.bare));
    return file.values.names_one(line) &&
           std::ranges::any_of(links, [&](std::string_view link) { return given.contains(link); });
  });
}

/// True if the code gives such an attribute of another object a value: `previous.next = …`, but not `self.next = …`.
bool gives_to_other(std::string_view code, std::string_view attribute) {
  return any_place_of(code.substr(0, equal_sign(code, 0)), attribute, [](std::string_view object, std::string_view) {
    return object.ends_with('.') && !object.ends_with("self.");
  });
}

/// Statements by which an object of a cycle gives itself to another one: `previous.next = self`.
FoundLines back_links_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> links = links_of_cycle(holder);
  return lines_of(file, [&](const PythonSource::Line& line) {
    const std::size_t equal = equal_sign(line.bare, 0);
    if (links.empty() || equal == npos) return false;
    const std::vector<std::string_view> values = parts_of(line.bare.substr(equal + 1), ",");
    return std::ranges::find(values, "self") != values.end() &&
           std::ranges::any_of(links, [&](std::string_view link) { return gives_to_other(line.bare, link); });
  });
}

/// The functions that have one of the statements, but not the one with the variable that leads to the holder: calls of
/// the others are on the way to it.
std::set<std::string_view> functions_of(const FoundLines& statements, std::string_view holder) {
  std::set<std::string_view> functions;
  const std::string_view root = holder.substr(0, std::min(holder.find(": "), holder.size()));
  const std::string_view own = root.size() < holder.size() ? root.substr(root.rfind('.') + 1) : std::string_view();
  for (const FoundLine& each : statements) {
    const std::string_view function = each.file->source.function_of(*each.line);
    if (!function.empty() && function != own) functions.insert(function);
  }
  return functions;
}

/// Calls of the functions in the text.
/// @param objects  those whose methods count; of others a call does if it is given what was made
FoundLines calls_in_text(const UserFile& file, const std::set<std::string_view>& functions,
                         const std::function<bool(std::string_view object)>& objects) {
  return lines_of(file, [&](const PythonSource::Line& line) {
    const bool is_given = file.values.names_one(line);
    return std::ranges::any_of(functions, [&](std::string_view function) {
      return calls_function(line.bare, function, [&](std::string_view object) { return is_given || objects(object); });
    });
  });
}

/// The same for objects of the path, and for functions without an object: `opt.step()` is no call of the program's own
/// `step`.
FoundLines calls_in_text(const UserFiles& files, const std::set<std::string_view>& functions, std::string_view holder) {
  std::set<std::string_view> objects = names_on_path(holder);
  objects.insert({"", "self", "cls"});
  return files.all([&](const UserFile& file) {
    return calls_in_text(file, functions, [&](std::string_view object) { return objects.contains(object); });
  });
}

/// Who calls a function has its result, and what it was called with, put into the function's cache.
FoundLines calls_of_cached(const UserFiles& files, std::string_view function, std::string_view holder) {
  FoundLines calls = files.callers_of({function});
  if (calls.empty()) calls = calls_in_text(files, {function}, holder);
  const auto of_any = [&](const UserFile& file) { return calls_in_text(file, {function}, kAnyObject); };
  if (calls.empty()) calls = files.all(of_any);
  return calls.empty() ? files.others(of_any) : calls;
}

/// Calls of the functions that have the statements: those that made a storage; else those in the text.
FoundLines calls_of(const UserFiles& files, const FoundLines& statements, std::string_view holder) {
  const std::set<std::string_view> functions = functions_of(statements, holder);
  FoundLines calls = files.callers_of(functions);
  if (!calls.empty()) return calls;
  std::set<std::string_view> named = functions;
  named.erase("__init__");  // who calls it by this name makes an object of another class
  return rather(calls_in_text(files, named, holder), uses_value);
}

FoundLines passes_in(const UserFile& file, bool only_it) {
  FoundLines found;
  for (const PythonSource::Line* line : file.values.passes(only_it)) found.push_back({&file, line});
  return found;
}

std::vector<StoringStatement> texts_of(const FoundLines& found) {
  std::vector<StoringStatement> texts;
  for (const FoundLine& each : found) texts.push_back(statement(each));
  return texts;
}

/// Backward passes that give gradients a graph: `loss.backward(create_graph=True)`.
FoundLines graphs_of_gradients_in(const UserFile& file, std::string_view) {
  return lines_of(file, [](const PythonSource::Line& line) {
    return calls_function(line.bare, "backward", kAnyObject) && has_name(line.bare, "create_graph");
  });
}

Storing stored_in(const UserFiles& files, std::string_view holder, std::string_view way) {
  if (const std::string_view function = cached_function(holder); !function.empty())
    return {texts_of(calls_of_cached(files, function, holder)), {}, {}};
  const auto in = [&](auto search) { return files.all([&](const UserFile& file) { return search(file, holder); }); };
  if (cycle_text::is_cycle(holder) && holder.find(cycle_text::kOfGradient) != npos) {
    const FoundLines found = in(graphs_of_gradients_in);
    return {texts_of(found), texts_of(calls_of(files, found, holder)), {}};
  }
  FoundLines statements = rather(in(statements_in), uses_value);
  // A callback, a metric or a cache in a file of its own stores what was made elsewhere.
  if (statements.empty()) {
    statements = files.others([&](const UserFile& file) { return statements_in(file, holder); });
  }
  const GivenTo given_to(files, holder);
  if (statements.empty()) statements = given_to.statements();
  if (statements.empty()) statements = by_own_name(files, holder);
  if (statements.empty()) statements = rather(added_by_name(files, holder, way), may_run_again);
  FoundLines uses = files.everywhere([&](const UserFile& file) { return entries_used_in(file, statements, holder); });
  std::ranges::move(given_to.uses(), std::back_inserter(uses));
  FoundLines calls = calls_of(files, statements, holder);
  // What leads to the storing statement is given the container to add to it.
  std::erase_if(uses, [&](const FoundLine& use) {
    return std::ranges::any_of(calls, [&](const FoundLine& call) { return call.line == use.line; });
  });
  // How what was made comes to the statement, or to a place that no statement of the user's files names. A statement in
  // a function without it has it by a parameter: what was only computed from it says nothing then.
  const auto is_known = [](const FoundLine& each) { return each.file->values.is_known_at(*each.line); };
  const bool has_parameter = !statements.empty() && std::ranges::none_of(statements, is_known);
  FoundLines passes = files.all([&](const UserFile& file) { return passes_in(file, has_parameter); });
  if (statements.empty()) statements = in(gifts_in);
  if (statements.empty()) statements = in(captures_in);
  if (statements.empty() && !(statements = in(back_links_in)).empty()) return {texts_of(statements), {}, {}};
  if (statements.empty()) {
    const bool with_values = files.knows_values();
    // A call that is given it says more than one that made it inside: `pool.add(net, rate)`, not `pool.fit()`.
    statements = rather(files.all([&](const UserFile& file) { return uses_in(file, holder, with_values); }),
                        [](const FoundLine& each) { return each.file->values.names_one(*each.line); });
  }
  if (statements.empty()) {
    statements = in(links_in);
    calls = calls_of(files, statements, holder);
  }
  if (statements.empty() && calls.empty() && passes.empty())
    return {texts_of(found_by_way(files, holder, way)), {}, {}};
  const bool is_shown = std::ranges::any_of(statements, uses_value) || !calls.empty();
  if (!is_shown) calls = std::move(passes);
  // A comprehension in the statement is called by it.
  std::erase_if(calls, [&](const FoundLine& call) {
    return std::ranges::any_of(statements, [&](const FoundLine& each) {
      return each.file == call.file && each.line->number == call.line->number;
    });
  });
  return {texts_of(statements), texts_of(calls), texts_of(uses)};
}

}  // namespace

std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                 std::string_view holder) {
  const UserFile file(site, code, {});
  return texts_of(statements_in(file, holder));
}

std::vector<StoringStatement> calls_on_path(std::string_view code, std::string_view site, std::string_view holder) {
  const UserFile file(site, code, {});
  return texts_of(uses_in(file, holder, false));
}

Storing stored_by(const TraceData& data, std::string_view holder, const std::vector<StackId>& made_at,
                  std::string_view way) {
  return stored_in(UserFiles(data, made_at), holder, way);
}

Storing stored_by(const TraceData& data, std::string_view holder) { return stored_in(UserFiles(data), holder, {}); }

}  // namespace dcmt::analyzer
