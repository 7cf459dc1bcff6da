#include "executor/simulated_world.h"

#include <ATen/ops/empty_like.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>

namespace dcmt::zero3 {
namespace {

constexpr std::chrono::minutes kLongestJoin{1};

/// A rank's arguments of a collective. They are on the stack of the rank's thread, which waits.
struct Contribution {
  const std::vector<GatherTask>* gathers = nullptr;
  const std::vector<ReduceTask>* reductions = nullptr;
  Reduction reduction = Reduction::kSum;
  Place place;
};

std::string text_of(const at::Tensor& tensor) {
  return std::to_string(tensor.numel()) + " " + c10::toString(tensor.scalar_type());
}

/// Describes the collectives of a group by the properties that must be equal on all ranks.
std::string text_of(const Contribution& one) {
  std::string text;
  if (one.gathers != nullptr) {
    text = "all-gather";
    for (const GatherTask& task : *one.gathers) text += " [" + text_of(task.shard) + "]";
  } else {
    text = one.reduction == Reduction::kSum ? "reduce-scatter of sums" : "reduce-scatter of means";
    for (const ReduceTask& task : *one.reductions) text += " [" + text_of(task.from) + "]";
  }
  return text;
}

class Ranks {
 public:
  explicit Ranks(int size) : seats_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(seats_.size()); }

  void join(int rank, const Place& place) {
    std::unique_lock<std::mutex> lock(mutex_);
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    if (seat.joined) fail(place, "rank " + std::to_string(rank) + " of this simulated world is taken");
    seat.joined = true;
    ++joined_;
    changed_.notify_all();
    if (!changed_.wait_for(lock, kLongestJoin, [&] { return joined_ == size(); })) {
      seat.joined = false;
      --joined_;
      fail(place, "not all of the " + std::to_string(size()) + " ranks of this simulated world have come");
    }
    changed_.wait(lock, [&] { return turn_ == rank; });
  }

  /// Waits for the other ranks. The last rank to arrive does the work of all.
  void meet(int rank, const Contribution& mine) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (gone_ >= 0) fail(mine.place, gone_text());
    seats_[static_cast<std::size_t>(rank)].here = &mine;
    const std::uint64_t round = round_;
    turn_ = next_missing(rank);
    if (turn_ < 0) {
      outcome_ = work();
      for (Seat& seat : seats_) seat.here = nullptr;
      ++round_;
      turn_ = 0;
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == rank; });
    if (round_ == round) {  // a rank that left has woken this thread
      seats_[static_cast<std::size_t>(rank)].here = nullptr;
      fail(mine.place, gone_text());
    }
    if (!outcome_.empty()) fail(mine.place, outcome_);
  }

  void leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    seats_[static_cast<std::size_t>(rank)].left = true;
    gone_ = rank;
    if (turn_ == rank) {
      turn_ = next_missing(rank);
      if (turn_ < 0) turn_ = next_present(rank);
    }
    changed_.notify_all();
  }

  bool all_left() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return next_present(0) < 0;
  }

 private:
  struct Seat {
    bool joined = false;
    bool left = false;
    const Contribution* here = nullptr;  ///< the collective in which the rank waits; nullptr: none
  };

  /// The next rank that neither waits in a collective nor has left, or -1.
  int next_missing(int rank) const {
    return next(rank, [](const Seat& seat) { return !seat.left && seat.here == nullptr; });
  }
  int next_present(int rank) const {
    return next(rank, [](const Seat& seat) { return !seat.left; });
  }
  template <typename Accept>
  int next(int rank, Accept accept) const {
    for (int step = 1; step <= size(); ++step) {
      const int candidate = (rank + step) % size();
      if (accept(seats_[static_cast<std::size_t>(candidate)])) return candidate;
    }
    return -1;
  }

  std::string gone_text() const { return "rank " + std::to_string(gone_) + " has left the world"; }

  /// Does the work; returns an empty text, or why nothing was done.
  std::string work() const {
    const Contribution& first = *seats_.front().here;
    for (int rank = 1; rank < size(); ++rank) {
      const Contribution& other = *seats_[static_cast<std::size_t>(rank)].here;
      if (text_of(first) != text_of(other)) {
        return "the ranks differ: rank 0 is in " + text_of(first.place) + " with " + text_of(first) + ", rank " +
               std::to_string(rank) + " in " + text_of(other.place) + " with " + text_of(other);
      }
    }
    try {
      for (std::size_t i = 0; first.gathers != nullptr && i < first.gathers->size(); ++i) gather(i);
      for (std::size_t i = 0; first.reductions != nullptr && i < first.reductions->size(); ++i) reduce(i);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }

  void gather(std::size_t task) const {
    for (const Seat& to : seats_) {
      std::int64_t offset = 0;
      for (const Seat& from : seats_) {
        const at::Tensor& shard = (*from.here->gathers)[task].shard;
        (*to.here->gathers)[task].into.narrow(0, offset, shard.numel()).copy_(shard);
        offset += shard.numel();
      }
    }
  }

  /// Adds in the order of the ranks, so that the sum is reproducible.
  void reduce(std::size_t task) const {
    std::int64_t offset = 0;
    for (const Seat& to : seats_) {
      const at::Tensor& into = (*to.here->reductions)[task].into;
      at::Tensor sum = at::empty_like(into);
      bool first = true;
      for (const Seat& from : seats_) {
        const at::Tensor part = (*from.here->reductions)[task].from.narrow(0, offset, into.numel());
        first ? sum.copy_(part) : sum.add_(part);
        first = false;
      }
      if (to.here->reduction == Reduction::kMean) sum.div_(size());
      into.copy_(sum);
      offset += into.numel();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  int joined_ = 0;
  int turn_ = 0;
  int gone_ = -1;            ///< the rank that left last, or -1
  std::uint64_t round_ = 0;  ///< collectives done
  std::string outcome_;      ///< error of the last round; empty: it succeeded
};

class SimulatedRank final : public World {
 public:
  SimulatedRank(std::shared_ptr<Ranks> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank) {}
  ~SimulatedRank() override { leave(); }
  SimulatedRank(const SimulatedRank&) = delete;
  SimulatedRank& operator=(const SimulatedRank&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return ranks_->size(); }
  void leave() override {
    if (!left_) ranks_->leave(rank_);
    left_ = true;
  }

 private:
  void run_gathers(const std::vector<GatherTask>& tasks, const Place& place) override {
    ranks_->meet(rank_, {&tasks, nullptr, Reduction::kSum, place});
  }
  void run_reductions(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) override {
    ranks_->meet(rank_, {nullptr, &tasks, reduction, place});
  }

  const std::shared_ptr<Ranks> ranks_;
  const int rank_;
  bool left_ = false;
};

struct Worlds {
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<Ranks>> by_number;
};

// Leaked on purpose: threads may end after static destructors have run.
Worlds& worlds() {
  static auto* all = new Worlds();
  return *all;
}

std::shared_ptr<Ranks> find_or_make(std::int64_t number, int size, const Place& place) {
  Worlds& all = worlds();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::erase_if(all.by_number, [](const auto& world) { return world.second->all_left(); });
  std::shared_ptr<Ranks>& ranks = all.by_number[number];
  if (ranks == nullptr) ranks = std::make_shared<Ranks>(size);
  if (ranks->size() != size) {
    fail(place, "simulated world " + std::to_string(number) + " has " + std::to_string(ranks->size()) + " ranks, not " +
                    std::to_string(size));
  }
  return ranks;
}

}  // namespace

std::shared_ptr<World> join_simulated_world(std::int64_t number, int rank, int size, const Place& place) {
  if (size < 1 || size > kMostSimulatedRanks || rank < 0 || rank >= size) {
    fail(place, "rank " + std::to_string(rank) + " of " + std::to_string(size) + " is not one of 1 to " +
                    std::to_string(kMostSimulatedRanks) + " ranks");
  }
  std::shared_ptr<Ranks> ranks = find_or_make(number, size, place);
  ranks->join(rank, place);
  return std::make_shared<SimulatedRank>(std::move(ranks), rank);
}

}  // namespace dcmt::zero3
