#include "gui/models/selection.h"

namespace dcmt::gui {

void Selection::clear() {
  select_lifetime(std::nullopt, 0);
  select_moment(std::nullopt);
}

void Selection::select_finding(std::int64_t finding) {
  if (finding == finding_) return;
  finding_ = finding;
  emit changed();
}

void Selection::select_lifetime(std::optional<scene::LifetimeId> lifetime, std::int64_t finding) {
  if (lifetime == lifetime_ && finding == finding_) return;
  lifetime_ = lifetime;
  finding_ = finding;
  emit changed();
}

void Selection::select_moment(std::optional<scene::Unit> moment) {
  if (moment == moment_) return;
  moment_ = moment;
  emit moment_changed();
}

}  // namespace dcmt::gui
