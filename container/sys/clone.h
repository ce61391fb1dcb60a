#pragma once

#include <errno.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include "container/sys/raw_syscall.h"

namespace roombox::sys {

/// clone3(2) with memory shared (CLONE_VM): the child runs `run(argument)` on the stack that the arguments
/// name, and must not return from it. glibc has no wrapper that lets one choose the cgroup. Answers the
/// child's pid, or -errno.
inline long clone3_onto_stack(const clone_args& arguments, int (*run)(void*), void* argument) {
#if defined(__x86_64__)
  long result = SYS_clone3;
  register void* child_run asm("r12") = reinterpret_cast<void*>(run);
  register void* child_argument asm("r13") = argument;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"  // the outermost frame
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), "r"(child_run), "r"(child_argument)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = SYS_clone3;
  register long x0 asm("x0") = reinterpret_cast<long>(&arguments);
  register long x1 asm("x1") = sizeof arguments;
  register void* child_run asm("x19") = reinterpret_cast<void*>(run);
  register void* child_argument asm("x20") = argument;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(child_run), "r"(child_argument)
      : "memory", "cc");
  return x0;
#else
  static_cast<void>(arguments), static_cast<void>(run), static_cast<void>(argument);
  return -ENOSYS;
#endif
}

}  // namespace roombox::sys
