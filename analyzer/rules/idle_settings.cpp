#include "analyzer/rules/idle_settings.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analyzer/allocator/model_run.h"
#include "analyzer/allocator/variables.h"
#include "analyzer/time/curve.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {

std::vector<Remark> remarks_of_settings(const TraceData& data) {
  std::vector<Remark> remarks;
  const auto add = [&](const IdleSetting& idle) {
    Remark& remark = remarks.emplace_back();
    remark.kind = RemarkKind::kSetting;
    remark.place = idle.setting;
    remark.why = idle.why;
  };
  bool variables_said = false;
  std::set<std::string> idle_somewhere, needed;
  std::vector<IdleSetting> idle;
  for (const StringId device : devices_of(data)) {
    const AllocatorRequests requests = requests_of(data, device);
    if (!requests.listed.valid()) continue;
    if (!std::exchange(variables_said, true)) {
      std::ranges::for_each(unread_variables(data.meta_text(meta::kAllocatorVariables), requests.settings_text), add);
    }
    const std::vector<std::string> settings = single_settings(requests.settings_text);
    if (settings.empty()) continue;
    std::vector<IdleSetting> here;
    const bool known = requests.events.size() <= kMostEventsTried && modelled(requests).can_predict();
    if (known) here = idle_settings(requests, requests.settings_text);
    for (const std::string& setting : settings) {
      if (!known || std::ranges::find(here, setting, &IdleSetting::setting) == here.end()) needed.insert(setting);
    }
    for (const IdleSetting& each : here) {
      if (idle_somewhere.insert(each.setting).second) idle.push_back(each);
    }
  }
  // Of several GPUs, it must have none on any.
  for (const IdleSetting& each : idle) {
    if (!needed.contains(each.setting)) add(each);
  }
  return remarks;
}

}  // namespace dcmt::analyzer
