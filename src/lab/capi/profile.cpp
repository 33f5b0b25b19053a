// C ABI: the budgets that a profile recommends.
#include <tamis/lab/profile.h>
#include <tamis/lab/tamis_lab.h>

#include <memory>
#include <vector>

#include "capi/budget.h"

struct tamis_profile {
  std::vector<tamis_head_budget> budgets;
};

// Arrays of this struct cross the ABI, so its size can never change.
static_assert(sizeof(tamis_head_budget) == 80);

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): for the functions below

tamis_code tamis_profile_read(const char* path, tamis_profile** out) {
  return make(out, [&] {
    auto profile = std::make_unique<tamis_profile>();
    for (const tamis::lab::HeadBudget& head :
         tamis::lab::read_profile_budgets(&required(path, "path")))
      profile->budgets.push_back({head.layer, head.head, to_c(head.budget)});
    return profile;
  });
}

void tamis_profile_free(tamis_profile* profile) { delete profile; }

tamis_code tamis_profile_budgets(const tamis_profile* profile, const tamis_head_budget** budgets,
                                 size_t* count) {
  return guarded([&] {
    const auto& all = required(profile, "profile").budgets;
    required(budgets, "budgets") = all.data();
    required(count, "count") = all.size();
  });
}
