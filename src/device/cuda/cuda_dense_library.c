#include "device/cuda/cuda_dense_library.h"
#include <dlfcn.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct pd_cuda_dense functions;
static char why_not[200];

static const char *const blas_names[] = {"libcublas.so.13",
                                         "libcublas.so.12",
                                         "libcublas.so",
                                         "/usr/local/cuda/lib64/libcublas.so",
                                         "/usr/local/cuda/lib/libcublas.so",
                                         NULL};
static const char *const solver_names[] = {"libcusolver.so.12",
                                           "libcusolver.so.11",
                                           "libcusolver.so",
                                           "/usr/local/cuda/lib64/libcusolver.so",
                                           "/usr/local/cuda/lib/libcusolver.so",
                                           NULL};

static void *open_first(const char *const *names) {
  for (; *names != NULL; ++names) {
    void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return library;
  }
  return NULL;
}

/* POSIX lets a data pointer from dlsym() stand for a function's. */
static bool cuda_dense_library_find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    snprintf(why_not, sizeof why_not, "%s is not in the library", name);
    return false;
  }
  *(void **)function = found;
  return true;
}

static bool find_blas(void *blas) {
  return cuda_dense_library_find(blas, "cublasCreate_v2", &functions.create) &&
         cuda_dense_library_find(blas, "cublasDestroy_v2", &functions.destroy) &&
         cuda_dense_library_find(blas, "cublasSetStream_v2", &functions.set_stream) &&
         cuda_dense_library_find(blas, "cublasDgemm_v2", &functions.gemm) &&
         cuda_dense_library_find(blas, "cublasDsyrk_v2", &functions.syrk) &&
         cuda_dense_library_find(blas, "cublasDtrsm_v2", &functions.trsm);
}

static bool find_solver(void *solver) {
  return cuda_dense_library_find(solver, "cusolverDnCreate", &functions.solver_create) &&
         cuda_dense_library_find(solver, "cusolverDnDestroy", &functions.solver_destroy) &&
         cuda_dense_library_find(solver, "cusolverDnSetStream", &functions.solver_set_stream) &&
         cuda_dense_library_find(solver, "cusolverDnDsyevd_bufferSize", &functions.eigen_size) &&
         cuda_dense_library_find(solver, "cusolverDnDsyevd", &functions.eigen) &&
         cuda_dense_library_find(solver, "cusolverDnDpotrf_bufferSize", &functions.cholesky_size) &&
         cuda_dense_library_find(solver, "cusolverDnDpotrf", &functions.cholesky);
}

static void cuda_dense_library_load(void) {
  void *blas = open_first(blas_names);
  void *solver = blas == NULL ? NULL : open_first(solver_names);
  if (solver == NULL)
    snprintf(why_not, sizeof why_not, "%s is not found",
             blas == NULL ? "cuBLAS (libcublas.so)" : "cuSOLVER (libcusolver.so)");
  else if (find_blas(blas))
    (void)find_solver(solver);
}

polyad_status pd_cuda_dense_load(polyad_context *context, const struct pd_cuda_dense **library) {
  *library = NULL;
  pthread_once(&once, cuda_dense_library_load);
  if (why_not[0] != '\0')
    return pd_cuda_services->fail(context, POLYAD_UNSUPPORTED,
                                  "Tucker decomposition on a GPU needs cuBLAS and cuSOLVER: %s; "
                                  "install CUDA's libraries or use --device cpu",
                                  why_not);
  *library = &functions;
  return POLYAD_OK;
}
