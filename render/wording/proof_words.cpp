#include "render/wording/proof_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "render/wording/story_words.h"

namespace dcmt::wording {
namespace {

using model::FenceTouch;
using model::ReleaseProof;

std::string toucher_text(const FenceTouch& touch) {
  std::string text(touch.name.value_or("code outside of operators"));
  if (touch.backward && *touch.backward != text) text += fmt::format(" in {}", *touch.backward);
  return fmt::format("{} at {}", text, touch.by.site);
}

/// Touches that read alike, most first, with an example of each.
std::vector<std::pair<std::int64_t, const FenceTouch*>> touchers(const ReleaseProof& proof) {
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<std::int64_t, const FenceTouch*>> found;
  for (const FenceTouch& touch : proof.touches) {
    const auto [at, fresh] = known.emplace(toucher_text(touch), found.size());
    if (fresh) found.emplace_back(0, &touch);
    ++found[at->second].first;
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

std::string touched_text(const ReleaseProof& proof) {
  return fmt::format("{} of {}", grouped(proof.touched), counted(proof.releases, "release"));
}

}  // namespace

std::string proof_sentence(const ReleaseProof& proof) {
  if (proof.verdict == "proved") {
    const std::string steps = proof.steps > 0 ? ", " + counted(proof.steps, "step") : "";
    return fmt::format("proved: nobody touched it in {}{} (forked processes and rare system calls are not covered)",
                       counted(proof.releases, "release"), steps);
  }
  if (proof.touches.empty()) {
    if (proof.touched > 0) return "touched, by whom is not recorded: " + touched_text(proof);
    return "not proved: " + joined(proof.why_not, "; ");
  }
  return fmt::format("touched by {}: {}", toucher_text(*touchers(proof).front().second), touched_text(proof));
}

LabelledLines proof_facts(const ReleaseProof& proof, const Form& form) {
  LabelledLines facts{{"proof", proof_sentence(proof)}};
  const auto found = touchers(proof);
  for (std::size_t i = 0; i < std::min(found.size(), form.most); ++i) {
    const auto& [times, touch] = found[i];
    facts.push_back({i == 0 ? "first touch" : "",
                     fmt::format("{}, {} at byte {}{}", toucher_text(*touch), touch->writes ? "writes" : "reads",
                                 grouped(touch->offset), times > 1 ? fmt::format(", {} alike", grouped(times)) : "")});
    for (LabelledLine& line : stack_facts(touch->by, form)) facts.push_back(std::move(line));
  }
  if (found.size() > form.most)
    facts.push_back({"", fmt::format("and {} more", grouped(static_cast<std::int64_t>(found.size() - form.most)))});
  if (proof.verdict == "touched") {
    for (const std::string& why : proof.why_not) facts.push_back({"", why});
  }
  return facts;
}

std::string different_result_text(const model::DifferentResult& result) {
  return fmt::format("result {}: {} at {}", grouped(result.number), result.name.value_or("a number"), result.by.site);
}

namespace {

/// "12 releases in 3 steps".
std::string extent_text(const ReleaseProof& proof) {
  return counted(proof.releases, "release") + (proof.steps > 0 ? " in " + counted(proof.steps, "step") : "");
}

std::string compared_text(const model::ComparedResults& results) {
  return fmt::format("{} and {} that the program read are equal to the bit", counted(results.gradients, "gradient"),
                     counted(results.numbers, "number"));
}

std::string changed_sentence(const model::ProvedProcess& process, std::string_view by) {
  const ReleaseProof& proof = process.proof;
  if (proof.verdict == "not_proved") return "not proved: " + joined(proof.why_not, "; ");
  const std::string_view done = by == "free" ? "freed" : "overwritten";
  if (proof.verdict == "touched") {
    return fmt::format("touched: a result changed when what {} left was {}", extent_text(proof), done);
  }
  return fmt::format("no result changed when what {} left was {}", extent_text(proof), done);
}

}  // namespace

LabelledLines proved_facts(const model::ProvedProcess& process, std::string_view by, const Form& form) {
  if (by == "fence") return proof_facts(process.proof, form);
  LabelledLines facts{{"proof", changed_sentence(process, by)}};
  if (process.results && process.proof.verdict != "not_proved") {
    if (process.results->first) {
      facts.push_back({"changed", different_result_text(*process.results->first)});
      for (LabelledLine& line : stack_facts(process.results->first->by, form)) facts.push_back(std::move(line));
    }
    facts.push_back({"compared", compared_text(*process.results) + (process.results->first ? " before that" : "")});
  }
  if (process.proof.verdict == "unchanged") {
    facts.push_back({"", by == "free" ? "not covered: raw pointers, which read what has taken its place"
                                      : "not covered: reads whose value a mask, a comparison or a cast hides"});
  }
  if (process.peak) {
    const auto& [before, predicted, measured] = *process.peak;
    facts.push_back({"peak", fmt::format("{} instead of {}{}", form.bytes(measured), form.bytes(before),
                                         predicted ? "; predicted " + form.bytes(*predicted) : "")});
  }
  return facts;
}

}  // namespace dcmt::wording
