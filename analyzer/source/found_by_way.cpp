#include "analyzer/source/found_by_way.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "analyzer/source/holder_path.h"
#include "analyzer/source/putting.h"

namespace dcmt::analyzer {
namespace {

/// Statements in which a library made it within a method of an object of the path: `opt.step()` for "main: opt.state".
FoundLines own_methods_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> names = names_on_path(holder);
  return lines_of(file, [&](const PythonSource::Line& line) {
    return file.innermost.contains(line.number) && calls_method_of(line.bare, names);
  });
}

/// The variables of closures by which the way leads: "captured" of "hooks[3].__closure__['captured'][0]".
std::set<std::string_view> closures_on(std::string_view way) {
  constexpr std::string_view kClosure = ".__closure__['";
  std::set<std::string_view> names;
  for (std::size_t at = way.find(kClosure); at != npos; at = way.find(kClosure, at + 1)) {
    const std::string_view name = way.substr(at + kClosure.size());
    names.insert(name.substr(0, name.find('\'')));
  }
  return names;
}

/// Statements that pass on a function by which the way to what is kept leads: a callback with what it captures, whose
/// object it has, or with its arguments.
FoundLines callbacks_in(const UserFile& file, std::string_view way) {
  const bool has_object = way.find(".__self__") != npos, has_arguments = way.find("args[") != npos;
  const std::set<std::string_view> captured = closures_on(way);
  std::set<std::string_view> functions;
  if (has_object || has_arguments) functions = file.source.functions();
  for (const PythonSource::Line& line : file.source.lines()) {
    if (std::ranges::any_of(captured, [&](std::string_view name) { return has_name(line.bare, name); }) &&
        file.source.function_around(line) != 0)
      functions.insert(file.source.function_of(line));
  }
  const FoundLines found =
      lines_of(file, [&](const PythonSource::Line& line) { return passes_function(line.bare, functions, has_object); });
  return has_arguments ? rather(found, uses_value) : found;
}

/// Statements that give the variable its value, an object of C that keeps what it yields: `rows =
/// itertools.cycle(read())`.
FoundLines makers_in(const UserFile& file, std::string_view holder) {
  const PathEnd target = end_of_path(holder.substr(0, holder.find(" (", holder.find(": ") + 1)));
  return lines_of(file, [&](const PythonSource::Line& line) {
    const std::string_view code = trimmed(line.bare);
    if (target.attribute) return attributes_given_by(code).contains(target.name);
    const bool counts = target.function.empty() || file.source.is_within(line, target.function);
    return counts && !code.starts_with("for ") && names_given_by(code).contains(target.name);
  });
}

/// True if the way leads to the storage inside an object of C: "main: rows (saved)[0]".
bool leads_inside(std::string_view way) { return way.find(" (saved)") != npos || way.find(" (ahead)") != npos; }

/// Statements that give what they make on, by a call whose result nobody has: `warnings.warn(Spike(grad.clone()))`.
FoundLines given_on_in(const UserFile& file, std::string_view) {
  return lines_of(file, [&](const PythonSource::Line& line) {
    const std::string_view call = trimmed(line.bare);
    const std::size_t open = call.find('(');
    return file.innermost.contains(line.number) && open != npos && make_something(call.substr(open)) &&
           file.source.fate_of_what_is_made_at(line.number).kind == PythonSource::Fate::Kind::kDropped;
  });
}

/// Calls that make the coroutines or generators by which the way leads: `create_task(self.close_on(stop, session))`.
FoundLines suspended_in(const UserFile& file, std::string_view holder, std::string_view way) {
  const std::set<std::string_view> functions = suspended_from_holder(holder, way);
  return lines_of(file, [&](const PythonSource::Line& line) {
    return std::ranges::any_of(functions,
                               [&](std::string_view each) { return calls_function(line.bare, each, kAnyObject); });
  });
}

/// Statements by the last name on the path that the user's files have, if they do not have the holder's own, which is a
/// library's: `self._chain = self._chain.new_child()` for "scope._chain.maps".
FoundLines by_earlier_name(const UserFiles& files, std::string_view holder) {
  const auto has_any = [](std::string_view, std::string_view) { return true; };
  PathEnd end = end_of_path(holder);
  const auto names_it = [&](const UserFile& file) {
    return lines_of(file, [&](const PythonSource::Line& line) { return any_place_of(line.bare, end.name, has_any); });
  };
  const auto puts_into_it = [&](const UserFile& file) {
    return lines_of(file, [&](const PythonSource::Line& line) { return puts_into(line.bare, end); });
  };
  while (end.attribute && end.link.empty() && files.everywhere(names_it).empty()) {
    holder = holder.substr(0, holder.rfind("." + std::string(end.name)));
    end = end_of_path(holder);
    if (FoundLines found = files.everywhere(puts_into_it); !found.empty()) return found;
  }
  return {};
}

/// Statements that give a future its result or a callback, where the way leads by these: `tail.set_result((x, next))`.
FoundLines futures_in(const UserFile& file, std::string_view holder, std::string_view way) {
  const auto has = [&](std::string_view part) { return holder.find(part) != npos || way.find(part) != npos; };
  const bool by_result = has(" (result)"), by_callback = has(" (callbacks)");
  return lines_of(file, [&](const PythonSource::Line& line) {
    if (line.bare.find("set_result(None)") != npos) return false;
    return (by_result && calls_function(line.bare, "set_result", kAnyObject)) ||
           (by_callback && calls_function(line.bare, "add_done_callback", kAnyObject));
  });
}

}  // namespace

FoundLines found_by_way(const UserFiles& files, std::string_view holder, std::string_view way) {
  FoundLines found = files.all([&](const UserFile& file) { return suspended_in(file, holder, way); });
  if (found.empty()) found = files.all([&](const UserFile& file) { return callbacks_in(file, way); });
  if (found.empty()) found = files.all([&](const UserFile& file) { return own_methods_in(file, holder); });
  if (found.empty() && leads_inside(way))
    found = files.all([&](const UserFile& file) { return makers_in(file, holder); });
  if (found.empty()) found = files.all([&](const UserFile& file) { return given_on_in(file, holder); });
  if (found.empty()) found = by_earlier_name(files, holder);
  if (found.empty()) found = files.everywhere([&](const UserFile& file) { return futures_in(file, holder, way); });
  return found;
}

}  // namespace dcmt::analyzer
