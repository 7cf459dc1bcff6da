#include "collector/scan/native/proof.h"

#include <algorithm>
#include <utility>

namespace dcmt::scan {

using Pointer = NativeObject::Pointer;

Proof::Proof(const std::vector<NativeObject>& objects, References references,
             std::function<std::string(Address)> root_of)
    : objects_(objects), check_(references), root_of_(std::move(root_of)) {
  words_.reserve(objects.size());
  for (Object object = 0; object < objects.size(); ++object) words_.push_back(words_that_keep(object));
  follow();
  const std::set<Member> owning = owning_members();
  if (owning.empty()) return;
  std::vector<std::pair<Object, Words>> owned;
  for (Object object = 0; object < objects.size(); ++object) {
    if (Words words = words_of_owners(object, owning); !words.empty()) owned.emplace_back(object, std::move(words));
  }
  if (owned.empty()) return;
  for (auto& [object, words] : owned) words_[object] = std::move(words);
  follow();
}

void Proof::follow() {
  references_.assign(objects_.size(), {});
  states_.assign(objects_.size(), State::kUnknown);
  // Walk from the variables to the objects that they lead to.
  struct Step {
    Object object;
    const Pointer* pointer;
  };
  std::vector<std::vector<Step>> kept_by(objects_.size());
  std::vector<Step> found;
  for (Object object = 0; object < objects_.size(); ++object) {
    for (const Pointer* each : words_[object])
      (each->is_root ? found : kept_by[each->holder]).push_back({object, each});
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Step step = found[i];
    const bool is_first = references_[step.object].empty();
    references_[step.object].push_back(step.pointer);
    if (!is_first) continue;
    found.insert(found.end(), kept_by[step.object].begin(), kept_by[step.object].end());
  }
}

std::optional<Proof::Member> Proof::member_with(const Pointer& word) {
  if (word.is_root) return std::nullopt;
  return check_.member_at(objects_[word.holder].range.begin, word.place);
}

std::set<Proof::Member> Proof::owning_members() {
  std::set<Member> owning;
  for (Object object = 0; object < objects_.size(); ++object) {
    if (words_[object].empty() || !check_.count_of(objects_[object]) || !proves(object)) continue;
    for (const Pointer* each : references_[object]) {
      if (const std::optional<Member> member = member_with(*each)) owning.insert(*member);
    }
  }
  return owning;
}

Proof::Words Proof::words_of_owners(Object object, const std::set<Member>& owning) {
  const std::optional<std::uint32_t> count = check_.count_of(objects_[object]);
  if (!count || words_[object].size() <= *count) return {};
  Words owners, others;
  for (const Pointer* each : words_[object]) {
    const std::optional<Member> member = member_with(*each);
    (member && owning.contains(*member) && proves(each->holder) ? owners : others).push_back(each);
  }
  if (owners.size() != *count) return {};
  const bool used =
      std::ranges::any_of(others, [this](const Pointer* each) { return each->is_root || proves(each->holder); });
  return used ? Words{} : owners;
}

Proof::Words Proof::words_that_keep(Object object) {
  const NativeObject& kept = objects_[object];
  Words words, of_tensors, of_owners;
  for (const Pointer& pointer : kept.pointers) {
    if (!check_.keeps(kept, pointer)) continue;
    if (pointer.is_root) {
      if (root_of_(pointer.place).empty()) continue;
    } else {
      const NativeObject& holder = objects_[pointer.holder];
      if (check_.is_free(holder) || check_.is_spare(holder, pointer.place, objects_)) continue;
      if (check_.is_storage_of_tensor(kept, holder.range.begin, pointer.place)) of_tensors.push_back(&pointer);
      if (check_.is_object_of_control_block(holder.range.begin, pointer.place)) of_owners.push_back(&pointer);
    }
    if (check_.is_memory_of_vector(kept, pointer.place)) of_owners.push_back(&pointer);
    words.push_back(&pointer);
  }
  // Such an object has plain pointers to it as well, such as those that callbacks capture, and stale ones.
  if (!of_owners.empty()) return of_owners;
  // References of tensors are certain. If the storage counts no others, the remaining words are stale.
  return of_tensors.size() == check_.count_of(kept) ? of_tensors : words;
}

/// Adds the sources of references to an object without a count, also through others without one.
void Proof::add_sources(Object object, std::set<Object>& passed, std::set<Object>& counted,
                        std::set<std::string>& roots) {
  if (!passed.insert(object).second) return;
  for (const Pointer* each : references_[object]) {
    if (each->is_root) {
      roots.insert(root_of_(each->place));
    } else if (check_.count_of(objects_[each->holder])) {
      counted.insert(each->holder);
    } else {
      add_sources(each->holder, passed, counted, roots);
    }
  }
}

bool Proof::proves(Object object) {
  if (states_[object] != State::kUnknown) return states_[object] == State::kProved;
  states_[object] = State::kUnderWay;  // an object that leads to itself proves nothing
  // A word without a variable may be a reference that was not followed, or the other words may be stale.
  bool proved = words_[object].size() == references_[object].size();
  if (const auto count = check_.count_of(objects_[object])) {
    proved = proved && references_[object].size() == *count &&
             std::ranges::any_of(references_[object],
                                 [this](const Pointer* each) { return each->is_root || proves(each->holder); });
  } else {
    std::set<Object> passed;
    std::set<Object> counted;
    std::set<std::string> roots;
    add_sources(object, passed, counted, roots);
    proved = proved && counted.size() + roots.size() == 1 &&
             std::ranges::all_of(counted, [this](Object each) { return proves(each); });
  }
  states_[object] = proved ? State::kProved : State::kNot;
  return proved;
}

}  // namespace dcmt::scan
