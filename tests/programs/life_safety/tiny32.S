# A 32-bit program without a library; its dynamic loader reads LD_PRELOAD all the same. Exits with 6.
    .globl _start
_start:
    movl $1, %eax
    movl $6, %ebx
    int  $0x80
    .section .note.GNU-stack,"",@progbits
