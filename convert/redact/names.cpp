#include "convert/redact/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "analyzer/load/owners.h"

namespace dcmt::convert {
namespace {

/// Words that analyses depend on, and that reveal nothing about a program. docs/convert.md has this list.
constexpr std::string_view kPublicWords[] = {
    // files: their origin
    "lib",
    "python3",
    "site",
    "dist",
    "packages",
    "torch",
    "functorch",
    "dc_memtrace",
    "inductor_cache",
    "py",
    "so",
    "module",
    "string",
    "stdin",
    "frozen",
    "eval_with_key",
    "lambda",
    "locals",
    "__init__",
    // phases and scopes
    "forward",
    "backward",
    "optimizer",
    "Optimizer",
    "step",
    "ProfilerStep",
    // paths of holders
    "main",
    "cycle",
    "Python",
    "s",
    "collector",
    "can",
    "free",
    "it",
    "through",
    "from",
    "static",
    "grad_fn",
    "grad",
    "tb_frame",
    "tb_next",
    "list",
    "dict",
    "tuple",
    "set",
    "deque",
    "graph",
    "finished",
    "frame",
    "parameter",
    "gradient",
    "unknown",
    // types of elements
    "float",
    "double",
    "int",
    "long",
    "short",
    "bool",
    "Half",
    "BFloat16",
    "c10",
    "Tensor",
    // mechanisms that gather
    "FSDP2",
    "DeepSpeed",
    "ZeRO",
    "hooks",
};

constexpr std::string_view kPublicTexts[] = {"cuBLAS workspace", "cuBLASLt workspace", "pinned host memory",
                                             "under 64 KiB, not followed", "torch::autograd::AccumulateGrad"};

constexpr std::string_view kPublicNamespaces[] = {
    "aten",     "prim",        "prims", "c10d", "_c10d_functional", "c10d_functional", "profiler",
    "inductor", "torchvision", "fsdp",  "dc"};

constexpr std::string_view kWordsOfTraces[] = {"all",
                                               "around",
                                               "backward",
                                               "bad_record",
                                               "bytecode",
                                               "call",
                                               "cell",
                                               "census",
                                               "certain",
                                               "child",
                                               "cpu",
                                               "damaged",
                                               "driver",
                                               "eval_stack",
                                               "every",
                                               "explicit",
                                               "files",
                                               "final",
                                               "finding",
                                               "forked",
                                               "free",
                                               "function",
                                               "gather",
                                               "gradient",
                                               "in_flight",
                                               "kernel",
                                               "key_table_full",
                                               "last",
                                               "left",
                                               "libraries",
                                               "local",
                                               "lost_death",
                                               "malloc",
                                               "metadata_only",
                                               "mismatch",
                                               "nccl",
                                               "no_gather",
                                               "no_room",
                                               "not_settled",
                                               "note",
                                               "object",
                                               "other",
                                               "other_threads_unseen",
                                               "out_of_memory",
                                               "over --max-disk",
                                               "owners_off",
                                               "parameter",
                                               "peak",
                                               "persist",
                                               "persistent",
                                               "phase",
                                               "provider_off",
                                               "python",
                                               "python_object",
                                               "read",
                                               "recorded",
                                               "recorder",
                                               "release",
                                               "repoint",
                                               "resize",
                                               "shared",
                                               "shared memory",
                                               "shared tensors",
                                               "sharing_lossy",
                                               "snapshot",
                                               "spool_damaged",
                                               "stacks",
                                               "step",
                                               "steps",
                                               "storage",
                                               "tensor",
                                               "tensors",
                                               "touch",
                                               "unproven",
                                               "unseen_change",
                                               "unstable",
                                               "untracked",
                                               "unwound",
                                               "user",
                                               "view",
                                               "wait",
                                               "write"};

bool one_of(std::string_view text, const auto& list) { return std::ranges::find(list, text) != std::end(list); }

/// Bytes above 127 are letters of other scripts.
bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) > 127;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number(std::string_view word) { return std::ranges::all_of(word, is_digit); }

/// "aten::mm", "aten::empty.memory_format", and schemas that begin with such a name.
bool is_public_operator(std::string_view text) {
  const std::size_t colons = text.find("::");
  return colons != std::string_view::npos && one_of(text.substr(0, colons), kPublicNamespaces);
}

/// "AddmmBackward0": nodes of torch end with a digit, those of a program with "Backward".
bool is_public_node(std::string_view word) {
  const std::size_t digits = word.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < word.size() &&
         word.substr(0, digits + 1).ends_with("Backward");
}

}  // namespace

const std::string& Names::name_of(std::string_view word) {
  const auto [known, fresh] = names_.try_emplace(std::string(word));
  if (fresh) known->second = "name_" + std::to_string(names_.size());
  return known->second;
}

std::string Names::replaced(std::string_view text) { return text.empty() ? std::string() : name_of(text); }

std::string Names::without_names(std::string_view text) {
  if (one_of(text, kPublicTexts) || is_public_operator(text)) return std::string(text);
  std::string result;
  bool after_word = false;  // the previous word was not a number
  bool after_public_node = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!in_word(text[at])) {
      result += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (is_number(word)) {
      // Indexes, line numbers and numbers of modules stay; parts of addresses and versions do not.
      const char before = at == 0 ? ' ' : text[at - 1];
      const bool counts = before == '[' || before == ':' || before == '#' || (before == '.' && after_word);
      const bool goes_on = end < text.size() && text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]);
      result += counts && !goes_on && word.size() < 10 ? std::string(word) : name_of(word);
      after_word = after_public_node = false;
    } else {
      constexpr std::string_view kCompiler = "torchinductor_";
      if (word.starts_with(kCompiler)) result += kCompiler;
      const bool node = is_public_node(word);
      const bool saved = after_public_node && text[at - 1] == '.' && word.starts_with("_saved_");
      result += node || saved || one_of(word, kPublicWords) ? std::string(word) : name_of(word);
      after_word = true;
      after_public_node = node;
    }
    at = end;
  }
  return result;
}

bool is_word_of_traces(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    constexpr std::string_view kGpu = "cuda:";
    const bool gpu = word.starts_with(kGpu) && word.size() <= kGpu.size() + 3 && is_number(word.substr(kGpu.size()));
    if (!gpu && !one_of(word, kWordsOfTraces) && !one_of(word, analyzer::kRoles)) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace dcmt::convert
