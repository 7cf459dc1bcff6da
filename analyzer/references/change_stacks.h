// Where a reference count was changed: by which functions, and as what the reference is held.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The stacks of a change, outermost frame first.
struct ChangeStack {
  std::vector<FrameId> python;
  std::vector<std::string_view> native;  ///< from the interpreter on
  bool cut = false;                      ///< the outermost frames of C++ are missing
  bool at_exit = false;                  ///< the interpreter ended
  bool at_return = false;                ///< the variables of a Python function ended, of which `python` has the caller

  /// The C++ function that changed the count; empty: the interpreter itself, or unknown.
  [[nodiscard]] std::string_view function() const { return native.empty() ? std::string_view() : native.back(); }
};

/// As what a reference is held that a change took or gave back.
enum class HeldAs {
  kValue,      ///< by the interpreter: a variable, or a value that a statement works with
  kVariable,   ///< by the variables of a Python function, as it is called or ends
  kOtherHalf,  ///< by the tensor, of its Python object, or by that object, of the tensor
  kResult,     ///< what C++ returns to the interpreter
  kElsewhere,  ///< in a container, or in an object of C++
};

/// The stacks of a trace, each made once. Thread-safety: none.
class ChangeStacks {
 public:
  explicit ChangeStacks(const TraceData& data) : data_(data) {}

  [[nodiscard]] const ChangeStack& of(const CountChange& change);

 private:
  const TraceData& data_;
  std::map<std::pair<StackId, StackId>, ChangeStack> known_;
};

[[nodiscard]] HeldAs held_as_taken(Subject subject, const CountChange& change, const ChangeStack& stack);
[[nodiscard]] HeldAs held_as_given_back(Subject subject, const ChangeStack& stack);

/// True if a dictionary got the reference, or gave it back.
[[nodiscard]] bool is_of_dictionary(const ChangeStack& stack);
/// How many frames the two stacks are apart in the tree of calls.
[[nodiscard]] std::size_t frames_between(const ChangeStack& one, const ChangeStack& other);
/// True if `inner` is in the same lines as `outer`, and perhaps in functions that they call.
[[nodiscard]] bool is_within(const ChangeStack& inner, const ChangeStack& outer);

}  // namespace dcmt::analyzer
