# The same as trampolines.x86_64.S, for aarch64.

    .text

# Saves the argument registers and the return address, calls \function, restores them.
.macro CALL_PRESERVING function
    stp x29, x30, [sp, #-64]!
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    str x8, [sp, #48]
    bl  \function
    ldr x8, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #64
.endm

# Reads the variable \name into \register.
.macro READ register name
    adrp \register, \name
    ldr  \register, [\register, :lo12:\name]
.endm

    .globl dlopen
    .type dlopen, %function
dlopen:
    hint #34  // bti c
    tbnz w1, #2, 2f
    mov  w10, #1
    adrp x9, dcmt_loader_was_busy
    str  w10, [x9, :lo12:dcmt_loader_was_busy]
    mrs  x9, tpidr_el0
    adrp x11, :gottprel:_ZN4dcmt5agent7t_stateE
    ldr  x11, [x11, :gottprel_lo12:_ZN4dcmt5agent7t_stateE]
    add  x9, x9, x11
    strb w10, [x9, #44]
2:  READ x16, dcmt_real_dlopen
    cbnz x16, 1f
    CALL_PRESERVING dcmt_resolve_real_functions
    READ x16, dcmt_real_dlopen
1:  br   x16
    .size dlopen, .-dlopen

    .globl dlsym
    .type dlsym, %function
dlsym:
    hint #34  // bti c
    READ x16, dcmt_real_dlsym
    cbnz x16, 1f
    CALL_PRESERVING dcmt_resolve_real_functions
1:  CALL_PRESERVING dcmt_before_symbol
    READ x16, dcmt_real_dlsym
    br   x16
    .size dlsym, .-dlsym

    .section .note.GNU-stack,"",%progbits
