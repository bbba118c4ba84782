/* How the plan picks a format: candidates, limits, estimates, words. */
#ifndef PD_CHOOSE_H
#define PD_CHOOSE_H

#include "plan/plan.h"

enum { PD_CANDIDATES_MAX = 64 };

/** What is known about one format for one request. */
struct pd_candidate {
  const struct polyad_format *format;
  const struct polyad_kernels *kernels; /* on the request's device; NULL: none */
  bool supported;
  bool fits; /* in the memory limit, and on a device with memory of its own also there */
  bool fits_host;
  uint64_t storage_bytes, building_bytes;
  uint64_t device_bytes; /* of storage, workspace and factors there; 0: the host's memory */
  uint64_t device_free;
  double seconds;                /* of one MTTKRP (or Phi) in every mode, estimated or measured */
  double building;               /* seconds, estimated */
  char variant[PD_REASON_BYTES]; /* to build */
  int parameter[PD_PARAMETERS_MAX]; /* to build with: as requested, else kept or measured before,
                                       else
                                       0 */
  char reason[PD_REASON_BYTES];
};

/** Facts about the tensor that the request's candidates are judged by. */
polyad_status pd_candidates_traits(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, struct pd_traits *traits);

/** Fills in every registered format, or only the request's. */
void pd_candidates_list(polyad_context *context, const struct pd_traits *traits,
                        const struct pd_request *request,
                        struct pd_candidate candidates[PD_CANDIDATES_MAX], int *count);

/** Leaves out what cannot be built from arrays that lie on the request's device alone. */
void pd_candidates_built_there(const struct pd_traits *traits, const struct pd_request *request,
                               struct pd_candidate *candidates, int count);

/** The usable candidate with the least seconds of a run of so many sweeps, building included, or a
 * failure that says why there is none. */
polyad_status pd_candidates_choose(polyad_context *context, const struct pd_candidate *candidates,
                                   int count, double sweeps, int *choice);

/** One line per candidate into `text`, the choice first. The seconds of a sweep are Phi's for that
 * kernel, else MTTKRP's; those of building are told where they count. */
void pd_candidates_explain(const struct pd_candidate *candidates, int count, int choice,
                           const char *variant, const struct pd_request *request, bool measured,
                           char text[PD_EXPLANATION_BYTES]);

#endif
