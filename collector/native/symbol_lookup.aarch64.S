# The same as symbol_lookup.x86_64.S, for aarch64.

    .text
    .globl dcmt_native_dlsym
    .hidden dcmt_native_dlsym
    .type dcmt_native_dlsym, %function
dcmt_native_dlsym:
    .cfi_startproc
    hint #34  // bti c
    stp  x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp  x0, x1, [sp, #16]
    bl   dcmt_native_symbol
    mov  x9, x0
    ldp  x0, x1, [sp, #16]
    ldp  x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    cbnz x9, 1f
    adrp x16, dcmt_native_real_dlsym
    ldr  x16, [x16, :lo12:dcmt_native_real_dlsym]
    br   x16
1:  mov  x0, x9
    ret
    .cfi_endproc
    .size dcmt_native_dlsym, .-dcmt_native_dlsym

    .section .note.GNU-stack,"",%progbits
