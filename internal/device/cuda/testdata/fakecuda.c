// Imitates what this package uses of libcuda, with host memory, to see that
// arguments arrive as cuda.h declares them. It says nothing of hardware. Copies
// are done when an event or the stream is waited for, never before.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long dptr;
typedef struct { int kind, id; } location;
typedef struct { int type, handles; location where; void *win32; unsigned char flags[8]; } prop;
typedef struct { location where; int flags; } desc;
typedef struct {
	size_t srcX, srcY; int srcType; const void *srcHost; dptr srcDevice; void *srcArray; size_t srcPitch;
	size_t dstX, dstY; int dstType; void *dstHost; dptr dstDevice; void *dstArray; size_t dstPitch;
	size_t width, height;
} rect;
typedef struct { char data[64]; } ipc;
typedef struct op { struct op *next; void *dst; const void *src; size_t n; } op;
typedef struct { op *first, **last; long queued, ran; } stream;
typedef struct { stream *s; long at; int polled; } event;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static __thread void *current;
static char context[2];
enum { INVALID = 1, MEMORY = 2, NOCONTEXT = 201, NOTREADY = 600 };
#define NEED if (current != &context[0]) return NOCONTEXT

int cuInit(unsigned f) { return f ? INVALID : 0; }
int cuDriverGetVersion(int *v) { *v = 12090; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return i == 0 ? 0 : INVALID; }
int cuDeviceGetName(char *name, int len, int d) { strncpy(name, "imitation", len); return d; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 1u << 30; return d; }
int cuDeviceGetAttribute(int *v, int what, int d) {
	*v = what == 75 ? 9 : what == 102 ? 1 : what == 103 ? VMM : 0;
	return d;
}
int cuDeviceGetPCIBusId(char *b, int len, int d) { strncpy(b, "0000:01:00.0", len); return d; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &context[d]; return d; }
int cuDevicePrimaryCtxRelease_v2(int d) { return d; }
int cuCtxSetCurrent(void *c) { current = c; return c == &context[0] ? 0 : INVALID; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { NEED; *f = *t = 1u << 30; return 0; }
int cuMemAlloc_v2(dptr *p, size_t n) {
	NEED;
	if (n > 1u << 30) return MEMORY;
	*p = (dptr)(uintptr_t)malloc(n);
	return *p ? 0 : MEMORY;
}
int cuMemFree_v2(dptr p) { NEED; free((void *)(uintptr_t)p); return 0; }
int cuMemHostRegister_v2(void *p, size_t n, unsigned f) { NEED; return p && n && n <= 256u << 20 && f == 1 ? 0 : INVALID; }
int cuMemHostUnregister(void *p) { NEED; return p ? 0 : INVALID; }

static void push(stream *s, void *dst, const void *src, size_t n) {
	op *o = malloc(sizeof *o);
	*o = (op){NULL, dst, src, n};
	*s->last = o, s->last = &o->next, s->queued++;
}
static void run(stream *s, long until) {
	while (s->ran < until) {
		op *o = s->first;
		memcpy(o->dst, o->src, o->n);
		if (!(s->first = o->next)) s->last = &s->first;
		free(o), s->ran++;
	}
}
int cuMemcpyHtoDAsync_v2(dptr d, const void *h, size_t n, stream *s) { NEED; push(s, (void *)(uintptr_t)d, h, n); return 0; }
int cuMemcpyDtoHAsync_v2(void *h, dptr d, size_t n, stream *s) { NEED; push(s, h, (void *)(uintptr_t)d, n); return 0; }
int cuMemcpy2DAsync_v2(const rect *r, stream *s) {
	NEED;
	if (r->srcType != 1 || r->dstType != 2 || r->srcPitch < r->width || r->dstPitch < r->width || r->srcX || r->dstY) return INVALID;
	for (size_t i = 0; i < r->height; i++)
		push(s, (char *)(uintptr_t)r->dstDevice + i * r->dstPitch, (const char *)r->srcHost + i * r->srcPitch, r->width);
	return 0;
}
int cuStreamCreate(stream **s, unsigned f) {
	NEED;
	*s = calloc(1, sizeof **s), (*s)->last = &(*s)->first;
	return f == 1 ? 0 : INVALID;
}
int cuStreamDestroy_v2(stream *s) { NEED; free(s); return 0; }
int cuStreamSynchronize(stream *s) { NEED; run(s, s->queued); return 0; }
int cuEventCreate(event **e, unsigned f) { NEED; *e = calloc(1, sizeof **e); return f == 2 ? 0 : INVALID; }
int cuEventDestroy_v2(event *e) { NEED; free(e); return 0; }
int cuEventRecord(event *e, stream *s) { NEED; *e = (event){s, s->queued, 0}; return 0; }
int cuEventQuery(event *e) {
	NEED;
	if (e->s->ran < e->at && e->polled++ < 2) return NOTREADY;
	run(e->s, e->at);
	return 0;
}
int cuGetErrorName(int code, const char **s) { *s = code == MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR"; return 0; }
int cuGetErrorString(int code, const char **s) { *s = code == MEMORY ? "out of memory" : "an error"; return 0; }
int cuIpcGetMemHandle(ipc *h, dptr d) { NEED; memset(h, 7, sizeof *h), memcpy(h, &d, sizeof d); return 0; }
int cuIpcOpenMemHandle_v2(dptr *p, ipc h, unsigned f) { NEED; memcpy(p, &h, sizeof *p); return f == 1 && h.data[63] == 7 ? 0 : INVALID; }
int cuIpcCloseMemHandle(dptr d) { NEED; return d ? 0 : INVALID; }

static int good(const prop *p) { return p->type == 1 && p->handles == 1 && p->where.kind == 1 && p->where.id == 0 && !p->win32; }
int cuMemGetAllocationGranularity(size_t *n, const prop *p, int o) { NEED; *n = 2u << 20; return o == 1 && good(p) ? 0 : INVALID; }
int cuMemCreate(unsigned long long *h, size_t n, const prop *p, unsigned long long f) {
	NEED;
	if (!good(p) || f || n % (2u << 20)) return INVALID;
	if (n > 1u << 30) return MEMORY;
	int fd = memfd_create("imitation", MFD_CLOEXEC);
	*h = fd + 1000;
	return ftruncate(fd, n) ? MEMORY : 0;
}
int cuMemRelease(unsigned long long h) { NEED; return close(h - 1000) ? INVALID : 0; }
int cuMemAddressReserve(dptr *p, size_t n, size_t align, dptr at, unsigned long long f) {
	NEED;
	void *m = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*p = (dptr)(uintptr_t)m;
	return align || at || f || m == MAP_FAILED ? INVALID : 0;
}
int cuMemAddressFree(dptr p, size_t n) { NEED; return munmap((void *)(uintptr_t)p, n) ? INVALID : 0; }
int cuMemMap(dptr p, size_t n, size_t off, unsigned long long h, unsigned long long f) {
	NEED;
	return off || f || mmap((void *)(uintptr_t)p, n, PROT_NONE, MAP_SHARED | MAP_FIXED, h - 1000, 0) == MAP_FAILED ? INVALID : 0;
}
int cuMemUnmap(dptr p, size_t n) {
	NEED;
	return mmap((void *)(uintptr_t)p, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? INVALID : 0;
}
int cuMemSetAccess(dptr p, size_t n, const desc *d, size_t count) {
	NEED;
	if (count != 1 || d->where.kind != 1 || d->where.id || d->flags != 3) return INVALID;
	return mprotect((void *)(uintptr_t)p, n, PROT_READ | PROT_WRITE) ? INVALID : 0;
}
int cuMemExportToShareableHandle(void *out, unsigned long long h, int type, unsigned long long f) {
	NEED;
	return type != 1 || f || (*(int *)out = dup(h - 1000)) < 0 ? INVALID : 0;
}
int cuMemImportFromShareableHandle(unsigned long long *h, void *os, int type) {
	NEED;
	*h = dup((int)(uintptr_t)os) + 1000;
	return type == 1 ? 0 : INVALID;
}
