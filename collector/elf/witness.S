# See witness.h. Each witness takes 32 bytes, so that witness.cpp finds it by its number; what they read and write is
# defined there.

    .text
    .globl dcmt_witness_code
    .hidden dcmt_witness_code
    .balign 32
dcmt_witness_code:
    .set number, 0
    .rept 32
    .balign 32
    endbr64
    movq %rdi, dcmt_witness_seen + 16 * number(%rip)
    movq %rsi, dcmt_witness_seen + 16 * number + 8(%rip)
    jmp  *dcmt_witness_real + 8 * number(%rip)
    .set number, number + 1
    .endr
    .balign 32

    .section .note.GNU-stack,"",@progbits
