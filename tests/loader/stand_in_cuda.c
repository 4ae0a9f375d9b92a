/* A stand-in for CUDA's driver, libcuda.so.1: page-locks nothing, and writes down what it is asked for.
 *
 * STAND_IN_LOG: the file for "register ADDRESS BYTES FLAGS", "unregister ADDRESS".
 * STAND_IN_FAILS: "NAME CODE" makes one call fail; "cuMemHostRegister 2 AFTER" only from the AFTER-th call on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int depth;

static void note(const char* what, const void* address, size_t bytes, unsigned flags) {
  FILE* file = fopen(getenv("STAND_IN_LOG"), "a");
  fprintf(file, "%s %p %zu %u\n", what, address, bytes, flags);
  fclose(file);
}

static int result(const char* call) {
  static int calls;
  char name[64];
  int code, after = 0;
  const char* fails = getenv("STAND_IN_FAILS");
  if (fails == NULL || sscanf(fails, "%63s %d %d", name, &code, &after) < 2 || strcmp(name, call) != 0) return 0;
  return ++calls > after ? code : 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return result("cuInit");
}
int cuCtxGetDevice(int* device) {
  const char* current = getenv("STAND_IN_CURRENT");
  if (current == NULL) return 201; /* CUDA_ERROR_INVALID_CONTEXT */
  *device = atoi(current);
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return result("cuDeviceGet");
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = (void*)(size_t)(device + 1000);
  note("retain", *context, 0, (unsigned)device);
  return result("cuDevicePrimaryCtxRetain");
}
int cuCtxPushCurrent_v2(void* context) {
  if ((size_t)context < 1000) return 201;
  __atomic_add_fetch(&depth, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = NULL;
  if (__atomic_sub_fetch(&depth, 1, __ATOMIC_SEQ_CST) < 0) note("unbalanced", NULL, 0, 0);
  return 0;
}
int cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  const int code = result("cuMemHostRegister");
  if (depth < 1) return 201;
  if (code == 0) note("register", address, bytes, flags);
  return code;
}
int cuMemHostUnregister(void* address) {
  if (depth < 1) note("unbalanced", address, 0, 0);
  note("unregister", address, 0, 0);
  return 0;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : NULL;
  return *name == NULL;
}
