// Status and Expected: how a failure crosses a library boundary. Nothing here throws.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace dcmt {

/// Why something failed. The process exit codes of the command line follow from it (cli/exit_codes.h).
enum class ErrorCode {
  kUsage,         ///< the caller asked for something that does not exist
  kBadInput,      ///< a file, table or trace that cannot be used
  kCannotRecord,  ///< recording or attaching is impossible here
  kIo,            ///< the operating system refused a read or a write
  kNotComparable,
  kStopped,  ///< the caller cancelled the operation
};

/// An error with one line for the user: what happened and what to do next.
struct Error {
  ErrorCode code;
  std::string message;
};

/// The outcome of an action without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)
  Status(ErrorCode code, std::string message) : error_{code, std::move(message)}, ok_(false) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const Error& error() const {
    assert(!ok_);
    return error_;
  }

 private:
  Error error_{ErrorCode::kUsage, {}};
  bool ok_ = true;
};

/// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }
  [[nodiscard]] Status status() const { return ok() ? Status() : Status(error()); }

  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace dcmt

/// Returns the error of `expr` (a Status) from the calling function, if there is one.
#define DCMT_RETURN_IF_ERROR(expr)                                                             \
  do {                                                                                         \
    if (::dcmt::Status dcmt_status_ = (expr); !dcmt_status_.ok()) return dcmt_status_.error(); \
  } while (false)

/// Declares `target` with the value of the expression that follows it (an Expected), or returns its error from the
/// calling function. It expands to several statements, so it cannot be the body of an `if` without braces.
#define DCMT_ASSIGN_OR_RETURN(target, ...) \
  DCMT_ASSIGN_OR_RETURN_NAMED(target, DCMT_JOIN_NAMES(dcmt_expected_, __LINE__), __VA_ARGS__)
#define DCMT_ASSIGN_OR_RETURN_NAMED(target, expected, ...) \
  auto expected = __VA_ARGS__;                             \
  if (!(expected).ok()) return (expected).error();         \
  target = std::move(*(expected))
#define DCMT_JOIN_NAMES(a, b) DCMT_JOIN_NAMES_NOW(a, b)
#define DCMT_JOIN_NAMES_NOW(a, b) a##b
