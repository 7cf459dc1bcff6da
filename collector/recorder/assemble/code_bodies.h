// The bytes of code objects, which arrive in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/recorder/decode/bytecode.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class CodeBodies {
 public:
  explicit CodeBodies(Journal& journal) : journal_(journal) {}

  struct Flow {
    std::optional<Expected<VariableFlow>> flow;  ///< nullopt: too little of the code object has arrived
    bool is_complete = false;                    ///< nothing more of it will arrive
  };
  /// variable_flow() in the code object with this wire id. Of a complete one, the same question is answered once: a
  /// generated function of thousands of lines is asked about each of its variables in each step.
  Flow flow(std::uint64_t code, int first_line, int local_index, int offset);

  /// Adds a record of a piece. Returns true if it has something new.
  Expected<bool> add(std::string_view bytes);
  /// The same for a record of an earlier recorder, which was valid then.
  void add_again(std::string_view bytes);

 private:
  /// A code object so far. Parts that are not complete are empty.
  struct Found {
    CodeBody code;
    bool is_complete = false;
  };
  [[nodiscard]] Found find(std::uint64_t code, int first_line) const;

  struct Question {
    std::uint64_t code;
    int first_line, local_index, offset;
    friend auto operator<=>(const Question&, const Question&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Part {
    bool seen = false;
    std::uint32_t total = 0;
    std::string bytes;
    [[nodiscard]] bool is_complete() const { return seen && bytes.size() == total; }
  };
  struct Body {
    int python = 0;
    Part parts[4];
  };
  void learn(const wire::CodeBodyRecord& record, std::string_view data);

  Journal& journal_;
  std::unordered_map<std::uint64_t, Body> bodies_;
  std::size_t bytes_ = 0;
  std::map<Question, Expected<VariableFlow>> answers_;  ///< of complete code objects, which do not change
};

}  // namespace dcmt::recorder
