// The names in the path of a holder, "main: probe.seen[0]".
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dcmt::analyzer {

/// A module's dictionary of its parts; a path to a part goes without it: "main: net._modules" has "main: net.head".
inline constexpr std::string_view kModules = "._modules";

/// "x" of "main: x" and of "program.x".
[[nodiscard]] std::string_view last_name(std::string_view path);

/// The variable or attribute with which a path ends, apart from entries.
struct PathEnd {
  std::string_view name;       ///< empty: the path ends in something else (a cell, a cache in C)
  std::string_view function;   ///< of which it is a local variable; empty: an attribute, or a module's variable
  bool attribute = false;      ///< of any object
  bool is_parameter = false;   ///< a new value of it puts nothing into what the caller has
  std::string_view link = {};  ///< "before" of a chain "head.before….value": from one object to the next
};
[[nodiscard]] PathEnd end_of_path(std::string_view holder);

/// The names of a path, without the module or function at its root: "pending" and "queue" of "main.pending.queue";
/// those that it has as keys, "stack" of "main.local (by thread)[…]['stack']"; and the classes of a cycle.
[[nodiscard]] std::set<std::string_view> names_on_path(std::string_view holder);

/// The attributes by which a path leads from its holder to what it keeps, the holder's own included: "loggerDict",
/// "handlers" and "state" of "logging.loggerDict['a'].handlers[0].state['w']", which "logging.loggerDict" keeps. A
/// module's own dictionary has no name in a path: of "main: net.hooks._modules" the names before it count.
[[nodiscard]] std::set<std::string_view> attributes_from_holder(std::string_view holder, std::string_view path);

/// The suspended functions by which a path leads from its holder to what it keeps: "close" of "main:
/// stop._waiters[0].gi_frame App.close (app.py:41): session", which "main: stop._waiters" keeps.
[[nodiscard]] std::set<std::string_view> suspended_from_holder(std::string_view holder, std::string_view path);

/// The attributes that link the objects of a cycle: "out" of "cycle PyNode (ctx) → ThroughBackward.out → PyNode".
[[nodiscard]] std::set<std::string_view> links_of_cycle(std::string_view holder);

/// "features" of "main.Encoder.features (lru_cache)"; empty: the holder is no cache of a function's results.
[[nodiscard]] std::string_view cached_function(std::string_view holder);

/// True if the paths differ in one attribute or entry of one object: "main: ap.scores" and "main: ap.relevant", or
/// "main.Cloud.near.values" and "main.Cloud.far.values". What two variables of a function or a module lead to is not of
/// one object.
[[nodiscard]] bool are_of_one_object(std::string_view path, std::string_view other);

/// "main: rows[].x" for "main: rows[3].x": without entries, and without the number of nodes on the way.
[[nodiscard]] std::string without_entries(std::string_view path);

}  // namespace dcmt::analyzer
