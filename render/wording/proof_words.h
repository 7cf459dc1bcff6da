// What a run under `prove` has shown, in words.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/proof.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "proved: nobody touched it in 12 releases, 6 steps (…)", "touched by aten::mul at train.py:15 step: 1 of 12
/// releases", or "not proved: …".
[[nodiscard]] std::string proof_sentence(const model::ReleaseProof& proof);
/// The same with its details: the first touches with their stacks, and what keeps the proof from being complete.
[[nodiscard]] LabelledLines proof_facts(const model::ReleaseProof& proof, const Form& form);

/// "gradient 3 (torch::autograd::AccumulateGrad at train.py:15 step)": a result that differs.
[[nodiscard]] std::string different_result_text(const model::DifferentResult& result);
/// What a run under `prove` has shown in one process.
/// @param by  "fence", "poison" or "free"
[[nodiscard]] LabelledLines proved_facts(const model::ProvedProcess& process, std::string_view by, const Form& form);

}  // namespace dcmt::wording
