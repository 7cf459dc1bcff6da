// Numbers, times, paths and lists in words. Counts and bytes: trace/base/quantities.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/quantities.h"
#include "trace/base/typed_id.h"

namespace dcmt::wording {

/// How much a front end shows.
struct Form {
  bool exact = false;    ///< bytes are "12,589,056 B" instead of "12.0 MiB"
  std::size_t most = 3;  ///< entries of a long list; the number of the others follows

  [[nodiscard]] std::string bytes(Bytes bytes) const {
    return exact ? exact_bytes(bytes.value) : rounded_bytes(bytes.value);
  }
};

/// A line about something, such as a finding: what it is about, and what it says. Without a label it continues the line
/// before.
struct LabelledLine {
  std::string label, text;

  friend bool operator==(const LabelledLine&, const LabelledLine&) = default;
};
using LabelledLines = std::vector<LabelledLine>;

/// "83.3 %" (digits = 1), "83 %" (digits = 0).
[[nodiscard]] std::string percent(double share, int digits);
/// "+12,589,056 B".
[[nodiscard]] std::string signed_bytes(std::int64_t bytes);
/// "5.2 ms".
[[nodiscard]] std::string duration(std::int64_t ns);
/// "5.2 ms to 7.0 ms"; one of them if they are equal.
[[nodiscard]] std::string durations(TimeNs shortest, TimeNs longest);
/// At most `longest` bytes, with "…" in place of the rest.
[[nodiscard]] std::string cut(std::string_view text, std::size_t longest);
/// The maximum length of a kernel's name, which templates can make long.
inline constexpr std::size_t kKernelName = 88;
/// "e7/ce7ijykp….py": the folder and name of a file. Names that are hashes, as in generated code, are shortened.
[[nodiscard]] std::string shown_path(std::string_view path);
/// "0 to 11", "0, 2, 5", "0 to 3, 7". A long list shows its beginning, the number of omitted values and the last value.
[[nodiscard]] std::string ranges(std::vector<std::int64_t> numbers);
/// "step 3", "steps 1 to 3"; empty if there are none.
[[nodiscard]] std::string steps_text(const std::vector<std::int64_t>& steps);
/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace dcmt::wording
