# The same as witness.x86_64.S, for aarch64.

    .text
    .globl dcmt_witness_code
    .hidden dcmt_witness_code
    .balign 64
dcmt_witness_code:
    .set number, 0
    .rept 32
    .balign 64
    hint #34  // bti c
    mrs  x16, tpidr_el0
    adrp x17, dcmt_witness_thread
    ldr  x17, [x17, :lo12:dcmt_witness_thread]
    cmp  x16, x17
    b.ne 1f
    adrp x17, dcmt_witness_seen + 16 * number
    add  x17, x17, :lo12:dcmt_witness_seen + 16 * number
    stp  x0, x1, [x17]
1:  adrp x16, dcmt_witness_real + 8 * number
    ldr  x16, [x16, :lo12:dcmt_witness_real + 8 * number]
    br   x16
    .set number, number + 1
    .endr
    .balign 64

    .section .note.GNU-stack,"",%progbits
