/* Has the calls of a process that write fail, once armed: the n-th of them all, or that and every later one.
   Loaded before the C library (LD_PRELOAD) by warm.py. The names are those of faults.WRITES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };
static long armed, count, at, onward;
static int error;
static const char *trail[ROOM];

void arm(long number, int code, int and_after) { at = number, error = code, onward = and_after, count = 0, armed = 1; }
void disarm(void) { armed = 0; }
long made(void) { return count; }
const char *called(long number) { return trail[number % ROOM]; }

static int fails(const char *name) {
    if (!armed) return 0;
    trail[count % ROOM] = name;
    count++;
    if (count != at && !(onward && at && count > at)) return 0;
    errno = error;
    return 1;
}

#define CALL(type, name, told, takes, gives)                         \
    type name takes {                                                \
        static type(*real) takes;                                    \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);        \
        return fails(told) ? -1 : real gives;                        \
    }

CALL(ssize_t, write, "write", (int f, const void *b, size_t n), (f, b, n))
CALL(ssize_t, writev, "writev", (int f, const struct iovec *v, int n), (f, v, n))
CALL(ssize_t, pwrite, "pwrite64", (int f, const void *b, size_t n, off_t o), (f, b, n, o))
CALL(ssize_t, pwrite64, "pwrite64", (int f, const void *b, size_t n, off64_t o), (f, b, n, o))
CALL(int, fsync, "fsync", (int f), (f))
CALL(int, fdatasync, "fdatasync", (int f), (f))
CALL(int, rename, "rename", (const char *a, const char *b), (a, b))
CALL(int, renameat, "renameat", (int d, const char *a, int e, const char *b), (d, a, e, b))
CALL(int, unlink, "unlink", (const char *a), (a))
CALL(int, unlinkat, "unlinkat", (int d, const char *a, int f), (d, a, f))
CALL(int, truncate, "truncate", (const char *a, off_t n), (a, n))
CALL(int, ftruncate, "ftruncate", (int f, off_t n), (f, n))
CALL(int, ftruncate64, "ftruncate", (int f, off64_t n), (f, n))
CALL(int, mkdir, "mkdir", (const char *a, mode_t m), (a, m))
CALL(int, mkdirat, "mkdirat", (int d, const char *a, mode_t m), (d, a, m))
CALL(int, link, "link", (const char *a, const char *b), (a, b))
CALL(int, linkat, "linkat", (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
CALL(int, fchmod, "fchmod", (int f, mode_t m), (f, m))
CALL(int, fchown, "fchown", (int f, uid_t u, gid_t g), (f, u, g))
