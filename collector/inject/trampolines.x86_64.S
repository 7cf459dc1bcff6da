# dlopen and dlsym, seen without becoming their caller.
#
# Both functions read their return address (RPATH of the caller, RTLD_NEXT), so a C wrapper would change what they
# do. These trampolines jump to the real function with stack and registers as they came.
#   dlopen: unless it only asks (RTLD_NOLOAD, 4), sets dcmt_loader_was_busy and has_loaded of the thread's state;
#           jumps. Our own searches for loaded libraries only ask: they must not bring about the next search.
#   dlsym:  first calls dcmt_before_symbol(handle, symbol): the loader is idle then.

    .text

# Saves the argument registers, calls \function, restores them. Keeps the stack 16-byte aligned.
.macro CALL_PRESERVING function
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    subq  $8, %rsp
    call  \function
    addq  $8, %rsp
    popq  %rcx
    popq  %rdx
    popq  %rsi
    popq  %rdi
.endm

    .globl dlopen
    .type dlopen, @function
dlopen:
    endbr64
    testl $4, %esi
    jne   2f
    movl  $1, dcmt_loader_was_busy(%rip)
    movq  _ZN4dcmt5agent7t_stateE@gottpoff(%rip), %rax
    movb  $1, %fs:44(%rax)
2:  cmpq  $0, dcmt_real_dlopen(%rip)
    jne   1f
    CALL_PRESERVING dcmt_resolve_real_functions
1:  jmp   *dcmt_real_dlopen(%rip)
    .size dlopen, .-dlopen

    .globl dlsym
    .type dlsym, @function
dlsym:
    endbr64
    cmpq  $0, dcmt_real_dlsym(%rip)
    jne   1f
    CALL_PRESERVING dcmt_resolve_real_functions
1:  CALL_PRESERVING dcmt_before_symbol
    jmp   *dcmt_real_dlsym(%rip)
    .size dlsym, .-dlsym

    .section .note.GNU-stack,"",@progbits
