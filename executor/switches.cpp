#include "executor/switches.h"

#include <algorithm>
#include <array>

namespace dcmt::zero3 {
namespace {

Switches g_switches;

struct Named {
  const char* name;
  bool Switches::*field;
  bool published;  ///< the published version has this defect
};

constexpr std::array kNamed = {
    Named{"release_clears_tensor_only", &Switches::release_clears_tensor_only, true},
    Named{"padded_reduce_reads_past_its_slice", &Switches::padded_reduce_reads_past_its_slice, true},
    Named{"reload_map_held_to_end_of_backward", &Switches::reload_map_held_to_end_of_backward, true},
    Named{"buckets_kept_into_optimizer", &Switches::buckets_kept_into_optimizer, true},
    Named{"cast_cache_keeps_gathered", &Switches::cast_cache_keeps_gathered, false},
    Named{"wrapper_keeps_aliases", &Switches::wrapper_keeps_aliases, true},
    Named{"eager_gather_without_owner", &Switches::eager_gather_without_owner, false},
    Named{"early_release_before_backward", &Switches::early_release_before_backward, false},
    Named{"undeclared_alias", &Switches::undeclared_alias, false},
};

}  // namespace

const Switches& switches() { return g_switches; }

bool set_switch(const std::string& name, bool on) {
  bool found = false;
  for (const Named& named : kNamed) {
    if (name == named.name || (name == "as_published" && named.published)) {
      g_switches.*named.field = on;
      found = true;
    }
  }
  return found;
}

bool switch_is_on(const std::string& name) {
  return std::any_of(kNamed.begin(), kNamed.end(),
                     [&](const Named& named) { return name == named.name && g_switches.*named.field; });
}

std::vector<std::string> switches_on() {
  std::vector<std::string> names;
  for (const Named& named : kNamed) {
    if (g_switches.*named.field) names.emplace_back(named.name);
  }
  return names;
}

}  // namespace dcmt::zero3
