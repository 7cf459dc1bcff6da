#include "executor/rank.h"

#include <chrono>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "collector/include/dcmt/marks.h"
#include "executor/switches.h"

namespace dcmt::zero3 {
namespace {

struct Graphs {
  std::mutex mutex;
  std::unordered_map<std::int64_t, Rank*> ranks;
};

// Leaked on purpose: threads may end after static destructors have run.
Graphs& graphs() {
  static auto* all = new Graphs();
  return *all;
}

/// A thread that ends without cleanup leaves the world, so that the other ranks do not wait for it. Its tensors are not
/// destroyed: Python may have ended already.
struct ThisThread {
  ~ThisThread() {
    if (rank != nullptr) rank->world().leave();
  }
  Rank* rank = nullptr;
};

thread_local ThisThread t_this;

/// Time limit, at the end of a rank, for launched work that nobody has waited for.
constexpr std::chrono::seconds kLongestDrain{60};

/// Marks the key as persistent for a recorder: releases of such a parameter keep its bytes on purpose, which the
/// operators' arguments do not show.
void mark_persistent(std::int64_t graph, std::int64_t id) {
  if (const dcmt_marks* marks = dcmt_get_marks_table()) marks->persist(graph, id);
}

}  // namespace

Rank::Rank(std::shared_ptr<World> world, RankOptions options)
    : world_(std::move(world)),
      options_(options),
      streams_(options.device),
      reducer_(*world_, streams_, options.reducer) {}

Rank::~Rank() {
  if (!streams_.drain(kLongestDrain)) world_->give_up();
  reset();
}

void Rank::register_graph(std::int64_t graph, const std::vector<std::int64_t>& ids, const Place& place) {
  for (const std::int64_t id : ids) registry_.at(id, place);
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!all.ranks.emplace(graph, this).second) fail(place, "a graph of this number is registered already");
  executors_.try_emplace(graph, graph, std::set<std::int64_t>(ids.begin(), ids.end()), *world_, registry_, streams_,
                         gathered_, log_);
  for (const std::int64_t id : ids) {
    if (registry_.at(id, place).persistent) mark_persistent(graph, id);
  }
}

Executor& Rank::executor(std::int64_t graph, const Place& place) {
  const auto found = executors_.find(graph);
  if (found == executors_.end()) fail(place, "no graph of this number is registered");
  return found->second;
}

void Rank::set_profiling(bool on) {
  profiling_ = on;
  if (!on) clear_all();
}

void Rank::set_persistent(std::int64_t id, const Place& place) {
  registry_.at(id, place).persistent = true;
  for (auto& [graph, executor] : executors_) {
    if (!executor.ids().contains(id)) continue;
    mark_persistent(graph, id);
    executor.gather(id, std::nullopt, place);
  }
}

void Rank::start_forward() {
  for (auto& [graph, executor] : executors_) executor.forget_uses();
}

void Rank::end_forward() {
  for (auto& [graph, executor] : executors_) executor.drop_casts();
}

void Rank::start_backward(bool updates) {
  for (auto& [graph, executor] : executors_) executor.forget_uses();
  if (updates_) {
    for (auto& [id, parameter] : registry_.all()) parameter.accumulates = false;
  }
  updates_ = updates;
}

void Rank::end_backward(Executor& executor, bool release_buckets, const Place& place) {
  reducer_.flush(place);
  streams_.synchronize(Line::kReduce);
  streams_.after(Line::kCurrent, Line::kGather);  // gathers that nobody has waited for may still read the shards
  if (updates_) executor.invalidate();
  executor.drop_reloaded();
  executor.drop_casts();
  if (release_buckets && !switches().buckets_kept_into_optimizer) reducer_.drop_buckets();
}

void Rank::invalidate(std::int64_t id, const Place& place) {
  Parameter& parameter = registry_.at(id, place);
  if (parameter.persistent) return;
  streams_.after(Line::kGather, Line::kCurrent);
  parameter.gathered.clear();
  for (auto& [graph, executor] : executors_) executor.forget_uses(id);
}

void Rank::clear_all() {
  streams_.after(Line::kGather, Line::kCurrent);
  for (auto& [id, parameter] : registry_.all()) {
    if (!parameter.persistent) parameter.gathered.clear();
  }
  for (auto& [graph, executor] : executors_) executor.forget_uses();
}

void Rank::reset() {
  {
    Graphs& all = graphs();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (const auto& [graph, executor] : executors_) all.ranks.erase(graph);
  }
  executors_.clear();
}

void enter_rank(const std::function<std::shared_ptr<World>()>& join, RankOptions options, const Place& place) {
  if (t_this.rank != nullptr) fail(place, "this thread is a rank already; cleanup ends it");
  t_this.rank = new Rank(join(), options);
}

void leave_rank() { delete std::exchange(t_this.rank, nullptr); }

Rank& this_rank(const Place& place) {
  if (t_this.rank == nullptr) fail(place, "this thread is no rank of a world; init_simulated makes it one");
  return *t_this.rank;
}

Rank& rank_of_graph(std::int64_t graph, const Place& place) {
  Graphs& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.ranks.find(graph);
  if (found == all.ranks.end()) fail(place, "no graph of this number is registered");
  return *found->second;
}

}  // namespace dcmt::zero3
