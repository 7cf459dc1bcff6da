#include "analyzer/model/proof.h"

#include <algorithm>
#include <map>
#include <set>

#include "trace/base/quantities.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::MarkKind;

constexpr std::string_view kEngine = "autograd::engine::";
constexpr std::string_view kNode = "autograd::engine::evaluate_function: ";

/// The node of autograd in which the operator runs; if none is known, but a backward runs, "the backward".
std::optional<std::string_view> backward_of(const TraceData& data, const analyzer::Operator* op) {
  std::optional<std::string_view> found;
  for (; op != nullptr; op = data.operators.find(op->parent)) {
    const std::string_view name = data.text(op->name);
    if (name.starts_with(kNode)) return name.substr(kNode.size());
    if (op->scope == analyzer::OperatorScope::kBackward && !name.starts_with(kEngine)) return name;
    if (name.starts_with(kEngine)) found = "the backward";
  }
  return found;
}

FenceTouch touch_of(const TraceData& data, const analyzer::Mark& mark) {
  FenceTouch touch{mark_of(data, mark), backward_of(data, data.operators.find(mark.by.op)), mark.flags.write,
                   mark.value.value_or(0)};
  // Python code that the engine calls, such as a hook, is outside of operators.
  if (touch.name && touch.name->starts_with(kEngine)) touch.name.reset();
  return touch;
}

/// Why the bytes of a release are not all fenced.
std::string_view reason_of(const analyzer::MarkFlags& flags) {
  if (flags.gpu) return "is memory of a GPU";
  if (flags.foreign) return "is no block of torch's CPU allocator";
  if (flags.refused) return "was refused by the kernel, or by a full table";
  return "shares its pages with other memory";
}

/// A program that failed may have done so because a system call got fenced memory.
bool has_failed(std::string_view exit) {
  return exit.starts_with("signal ") || (exit.starts_with("exit ") && exit != "exit 0" && exit != "exit unseen");
}

/// Collects releases and their fences.
class Collected {
 public:
  explicit Collected(const analyzer::Analysis& analysis) : analysis_(analysis), data_(*analysis.data) {}

  void add_fence(const analyzer::Mark& fence) {
    ++proof_.releases;
    const std::int64_t bytes = fence.bytes.value_or(Bytes(0)).value;
    const std::int64_t open = fence.value.value_or(0);
    proof_.bytes.value += bytes;
    proof_.fenced_bytes.value += bytes - open;
    if (open > 0) add_open(reason_of(fence.flags), open);
    if (const analyzer::Step* step = step_at(analysis_.releases.steps, fence.span.from_seq); step != nullptr) {
      steps_.insert(step->number);
    }
  }
  void add_touch(const analyzer::Mark& touch) {
    if (touch.flags.unseen) {
      unseen_ += touch.bytes.value_or(Bytes(0)).value;
    } else {
      proof_.touches.push_back(touch_of(data_, touch));
    }
  }
  /// A release that left a storage and has no fence.
  void add_release(const analyzer::ReleaseRow& row) {
    ++proof_.releases;
    proof_.bytes.value += row.bytes_left().value;
    add_open("was not inspected: its thread did nothing after the release", row.bytes_left().value);
  }

  [[nodiscard]] std::optional<ReleaseProof> result() && {
    if (proof_.releases == 0 && proof_.touches.empty() && unseen_ == 0) return std::nullopt;
    for (const auto& [reason, open] : open_) {
      proof_.why_not.push_back("what " + counted(open.releases, "release") + " left " + std::string(reason) + ": " +
                               exact_bytes(open.bytes) + " not covered");
    }
    std::int64_t lost = 0;
    for (const analyzer::Loss& loss : data_.losses) lost += loss.count;
    if (lost > 0) proof_.why_not.push_back(counted(lost, "record") + " of the run were lost");
    if (const std::string_view exit = data_.meta_text(meta::kExit); has_failed(exit)) {
      proof_.why_not.push_back("the program failed: " + std::string(exit));
    }
    if (unseen_ > 0) proof_.why_not.push_back("who touched " + counted(unseen_, "fence") + " is not recorded");
    proof_.touched = static_cast<std::int64_t>(proof_.touches.size()) + unseen_;
    proof_.steps = static_cast<std::int64_t>(steps_.size());
    proof_.verdict = proof_.touched > 0 ? "touched" : proof_.why_not.empty() ? "proved" : "not_proved";
    return std::move(proof_);
  }

 private:
  struct Open {
    std::int64_t releases = 0, bytes = 0;
  };
  void add_open(std::string_view reason, std::int64_t bytes) {
    Open& open = open_[reason];
    ++open.releases;
    open.bytes += bytes;
  }

  const analyzer::Analysis& analysis_;
  const TraceData& data_;
  ReleaseProof proof_;
  std::map<std::string_view, Open> open_;
  std::set<std::int64_t> steps_;
  std::int64_t unseen_ = 0;
};

}  // namespace

ComparedResults compare_results(const analyzer::Analysis& one, const analyzer::Analysis& other) {
  const auto results_of = [](const analyzer::Analysis& analysis) {
    std::vector<const analyzer::Mark*> results;
    for (const analyzer::Mark& mark : analysis.data->marks) {
      if (mark.kind == MarkKind::kResult) results.push_back(&mark);
    }
    std::ranges::sort(results, {}, [](const analyzer::Mark* mark) { return mark->span.from_seq; });
    return results;
  };
  const auto ones = results_of(one), others = results_of(other);
  ComparedResults compared;
  for (std::size_t i = 0; i < std::max(ones.size(), others.size()); ++i) {
    if (i >= ones.size() || i >= others.size() || ones[i]->value != others[i]->value) {
      const bool in_other = i < others.size();
      compared.first.emplace(
          DifferentResult{mark_of(in_other ? *other.data : *one.data, in_other ? *others[i] : *ones[i]),
                          static_cast<std::int64_t>(i) + 1});
      break;
    }
    const bool gradient = one.data->text(ones[i]->name) == "torch::autograd::AccumulateGrad";
    ++(gradient ? compared.gradients : compared.numbers);
  }
  return compared;
}

std::optional<ReleaseProof> proof_of(const analyzer::Analysis& analysis) {
  Collected collected(analysis);
  std::set<analyzer::Key> keys;
  std::set<MarkId> fenced;
  for (const analyzer::Mark& mark : analysis.data->marks) {
    if (mark.kind == MarkKind::kFenceTouch) collected.add_touch(mark);
    if (mark.kind != MarkKind::kFence && mark.kind != MarkKind::kPoison) continue;
    collected.add_fence(mark);
    if (mark.key) keys.insert(*mark.key);
    fenced.insert(mark.parent);
  }
  for (const analyzer::ReleaseRow& row : analysis.releases.rows) {
    if (row.residual && keys.contains(row.key()) && !fenced.contains(row.mark->id)) collected.add_release(row);
  }
  return std::move(collected).result();
}

std::optional<ReleaseProof> proof_of(const analyzer::Analysis& analysis, const analyzer::Finding& finding) {
  Collected collected(analysis);
  std::vector<const analyzer::ReleaseRow*> missing;
  bool fenced = false;
  for (const analyzer::FindingItem& item : finding.items) {
    if (item.release == nullptr || item.row == nullptr) continue;
    bool has_fence = false;
    for (const analyzer::Mark* mark : analysis.data->marks_by_parent.of(item.release->id)) {
      if (mark->kind == MarkKind::kFenceTouch) collected.add_touch(*mark);
      if (mark->kind != MarkKind::kFence) continue;
      collected.add_fence(*mark);
      has_fence = true;
    }
    if (!has_fence) missing.push_back(item.row);
    fenced = fenced || has_fence;
  }
  if (!fenced) return std::nullopt;
  for (const analyzer::ReleaseRow* row : missing) collected.add_release(*row);
  return std::move(collected).result();
}

}  // namespace dcmt::model
