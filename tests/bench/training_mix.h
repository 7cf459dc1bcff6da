// Records in the proportions of a real training step, made through the agent's core.
//
// Modelled on a GPT-2 step recorded in `full` detail: of 100 records 57 are begins and ends of operators, 15
// allocations and frees, 21 births and deaths of tensors, 7 deaths of storages; half of the storages die where they
// were born, the others in the backward half of the step; births carry one of 90 Python stacks, of 30 frames.
// Thread-safety: none; one object, one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace dcmt::bench {

class TrainingMix {
 public:
  /// Publishes the strings, code objects and stacks that the records will name.
  TrainingMix();

  /// Makes the next few records (about 14).
  void advance();

  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  struct Live {
    std::uint64_t storage, block, tensor, view, bytes;
  };

  std::uint64_t begin(std::uint64_t name);
  void end(std::uint64_t ordinal);
  Live allocate();
  void free(const Live& live);
  std::uint64_t fresh_address();
  std::uint64_t next_stack();

  std::vector<std::uint64_t> names_;
  std::vector<std::uint64_t> stacks_;
  std::vector<Live> kept_;                ///< of the forward half, freed in reverse
  std::vector<std::uint64_t> addresses_;  ///< given back, to be used again
  std::uint64_t next_address_ = 0x7f0000000000;
  std::uint64_t ordinal_ = 0;
  std::uint64_t unit_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace dcmt::bench
