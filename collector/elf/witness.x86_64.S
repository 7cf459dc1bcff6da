# See witness.h. Each witness takes 64 bytes, so that witness.cpp finds it by its number; what they read and write is
# defined there.

    .text
    .globl dcmt_witness_code
    .hidden dcmt_witness_code
    .balign 64
dcmt_witness_code:
    .set number, 0
    .rept 32
    .balign 64
    endbr64
    movq %fs:0, %r11
    cmpq dcmt_witness_thread(%rip), %r11
    jne  1f
    movq %rdi, dcmt_witness_seen + 16 * number(%rip)
    movq %rsi, dcmt_witness_seen + 16 * number + 8(%rip)
1:  jmp  *dcmt_witness_real + 8 * number(%rip)
    .set number, number + 1
    .endr
    .balign 64

    .section .note.GNU-stack,"",@progbits
