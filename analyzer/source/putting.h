// What a line of Python does with names: whether it puts something into them, or calls them.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "analyzer/source/holder_path.h"

namespace dcmt::analyzer {

/// True if the line puts something into what has the name, by `NAME.append(…)`, `NAME[…] = …`, `NAME += …` or the like,
/// or gives it a value that is made of it, `NAME = [*NAME, x]`.
[[nodiscard]] bool puts_into(std::string_view line, const PathEnd& target);
/// The variables to which the line gives what has the name, or one of its entries: "rows" of `rows = NAME`, `rows =
/// NAME[key]`, `rows = NAME.setdefault(key, [])` and `for rows in NAME.values()`.
[[nodiscard]] std::set<std::string_view> other_names_of(std::string_view line, const PathEnd& target);
/// True if the line uses the entries of what has the name: `NAME[…]`, `for x in NAME`, `f(NAME)`, `NAME.values()`. Not
/// if it counts them, removes or adds some.
[[nodiscard]] bool uses_entries(std::string_view line, const PathEnd& target);
/// The same as puts_into() for any object of one of the names.
[[nodiscard]] bool puts_into_one_of(std::string_view line, const std::set<std::string_view>& names);

/// True if the line calls one of the names, or a method of one, with arguments for which it holds.
[[nodiscard]] bool calls_one_of(std::string_view line, const std::set<std::string_view>& names,
                                const std::function<bool(std::string_view arguments)>& with);

/// True if the line calls a method of an object of one of the names, "self.opt.step()".
[[nodiscard]] bool calls_method_of(std::string_view line, const std::set<std::string_view>& names);

/// True if the line passes one of these functions, and not its result, to a call: "register_hook(hook)",
/// "finalize(self, self.close)".
/// @param bound  only with an object
[[nodiscard]] bool passes_function(std::string_view line, const std::set<std::string_view>& functions, bool bound);

/// True if the line calls a method that is named after one of the collections, as `log.addHandler(h)` after "handlers"
/// and `register_buffer("b", t)` after "_buffers".
[[nodiscard]] bool adds_by_name(std::string_view line, const std::set<std::string_view>& collections);

/// True if the line calls a function of this name. `of` says whether the object counts whose method it is; "": of none.
[[nodiscard]] bool calls_function(std::string_view line, std::string_view function,
                                  const std::function<bool(std::string_view object)>& of);

/// For calls_function(): a method of any object.
inline constexpr auto kAnyObject = [](std::string_view) { return true; };

/// True if a call with these arguments may be given what the line makes: `kept.add(net(x))`, but not `agent.play()`.
[[nodiscard]] bool make_something(std::string_view arguments);

}  // namespace dcmt::analyzer
