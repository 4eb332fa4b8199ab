/* ensemble.c - one draw by weight; members without weight are taken only where no other one fits. */
#include "llm-gateway/broker/ensemble.h"

#include "base/random.h"

static int fits(const struct atoll_ensemble_member *member, uint32_t generation, int any)
{
    return any || (generation >= member->from_generation && generation < member->until_generation);
}

int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request)
{
    struct atoll_random random = {atoll_id_u64(request), 0};
    double unit = atoll_random_unit(atoll_random_next(&random));
    for (int any = 0; any < 2; any++) {
        double total = 0.0;
        int chosen = -1;
        for (size_t i = 0; i < ensemble->member_count; i++)
            total += fits(&ensemble->members[i], generation, any) ? ensemble->members[i].weight : 0.0;
        double at = unit * total;
        for (size_t i = 0; i < ensemble->member_count; i++) {
            const struct atoll_ensemble_member *member = &ensemble->members[i];
            if (!fits(member, generation, any) || (total > 0.0 && !(member->weight > 0.0)))
                continue;
            chosen = (int)member->model;
            at -= member->weight;
            if (total <= 0.0 || at < 0.0)
                break;
        }
        if (chosen >= 0)
            return chosen;
    }
    return -1;
}
