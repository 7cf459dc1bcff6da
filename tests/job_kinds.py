"""Kinds of job, one a line: a shell script in which `$RUN` stands before the command that is recorded or not.

Scripts begin in an empty folder. `$PY` is a Python (`$PY -S -c` starts fast), `$LIFE` a C++ program that makes tensors
(programs/life_safety), `$SEND` and `$COUNT` are the programs of programs/job_kinds. What a script prints and its exit
code must be the same with and without recording, so nothing in it may depend on pids, times or the tool's variables.
"""

from __future__ import annotations

TORCH = "import torch; torch.set_num_threads(1); torch.manual_seed(0)"
TRAIN = (
    f"{TORCH}; m = torch.nn.Linear(64, 64); o = torch.optim.Adam(m.parameters())\n"
    "for _ in range(5): l = m(torch.randn(8, 64)).square().mean(); l.backward(); o.step(); o.zero_grad()\n"
    "print(float(l).hex())"
)
FD = "import os; print([fd for fd in range(3) if not os.path.exists(f'/proc/self/fd/{fd}')], file=open('seen', 'w'))"
OPEN = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"

EXITS = {
    "true": "$RUN true",
    "false": "$RUN false",
    "exit_255": "$RUN sh -c 'exit 255'",
    "exit_256_wraps": "$RUN $PY -S -c 'import sys; sys.exit(256)'",
    "not_found": "$RUN no-such-program 2>/dev/null",
    "not_found_by_path": "$RUN ./no/such/program 2>/dev/null",
    "not_executable": "echo > file; $RUN ./file 2>/dev/null",
    "folder_as_command": "mkdir d; $RUN ./d 2>/dev/null",
    "no_interpreter": "printf '#!/no/such\\n' > f; chmod +x f; $RUN ./f 2>/dev/null; test $? -ge 126; echo $?",
    "script_without_interpreter": "echo 'echo $0 $1; exit 4' > f; chmod +x f; $RUN ./f word",
    "found_in_path": "mkdir bin; echo 'echo here' > bin/tool; chmod +x bin/tool; PATH=$PWD/bin:$PATH; $RUN tool",
    "found_in_the_empty_part_of_path": "echo 'echo here' > tool; chmod +x tool; PATH=:/bin:/usr/bin; $RUN tool",
    "killed": "$RUN sh -c 'kill -KILL $$'; echo $?",
    "aborted": "$RUN sh -c 'kill -ABRT $$'; echo $?",
    "broken_pipe": "{ $RUN sh -c 'while echo y; do :; done'; echo $? > code; } | head -1; cat code",
    "real_time_signal": "$RUN sh -c 'kill -40 $$'; echo $?",
    "core_limit": "ulimit -c 0; $RUN sh -c 'kill -SEGV $$'; echo $?",
    "tensors_and_exit": "$RUN $LIFE leave exit",
    "tensors_and__exit": "$RUN $LIFE leave _exit",
    "tensors_and_quick_exit": "$RUN $LIFE leave quick_exit",
    "tensors_and_abort": "$RUN $LIFE leave abort",
    "tensors_and_segv": "$RUN $LIFE leave segv",
    "tensors_and_kill": "$RUN $LIFE leave kill",
    "tensors_and_term": "$RUN $LIFE leave term",
    "static": "$RUN $STATIC",
}

WORDS = {
    "empty_word": "$RUN printf '[%s]' '' a ''",
    "dashes": "$RUN printf '[%s]' -- --output x -o --",
    "newline_in_word": "$RUN printf '[%s]' 'a\nb'",
    "bytes_that_are_no_utf8": "$RUN printf '[%s]' \"$(printf '\\377\\376')\"",
    "quotes": "$RUN printf '[%s]' \"it's\" '\"' '$HOME' '*'",
    "many_words": "$RUN sh -c 'echo $#' $(seq 20000)",
    "a_long_word": "$RUN sh -c 'echo ${#1}' sh $(head -c 100000 /dev/zero | tr '\\0' x)",
    "odd_folder": "mkdir 'a b\n\"c'; cd 'a b\n\"c'; $RUN pwd | tail -1",
    "odd_program_name": "cp /bin/echo 'e c\nh)o'; $RUN './e c\nh)o' named",
    "name_with_parenthesis": "cp $(command -v sleep) 'x) S 1 ('; $RUN './x) S 1 (' 0; echo $?",
    "long_program_name": "n=$(printf 'n%.0s' $(seq 200)); cp /bin/echo $n; $RUN ./$n long",
    "name_of_the_tool": "cp /bin/echo dc-memtrace; $RUN ./dc-memtrace same name",
    "link_to_program": "ln -s /bin/echo link; $RUN ./link linked",
    "removed_program": "cp /bin/sh s; $RUN ./s -c 'rm s; /bin/echo still runs'",
}

STREAMS = {
    "input": "seq 1000 | $RUN sha256sum",
    "input_left_over": "seq 10 | { $RUN head -c 2; cat; }",
    "large_output": "$RUN seq 200000 | sha256sum",
    "errors": "$RUN sh -c 'echo out; echo err >&2'",
    "both_to_one_file": "$RUN sh -c 'echo out; echo err >&2; echo out' > f 2>&1; grep -v dc-memtrace: f",
    "closed_input": f'$RUN $PY -S -c "{FD}" <&-; cat seen',
    "closed_output": f'$RUN $PY -S -c "{FD}" >&-; echo $?; cat seen',
    "closed_errors": f'$RUN $PY -S -c "{FD}" 2>&-; echo $?; cat seen',
    "all_closed": f'$RUN $PY -S -c "{FD}" <&- >&- 2>&-; echo $?; cat seen',
    "closed_output_printed_to": "$RUN $PY -c \"print('hello', flush=True)\" >&-; echo $?",
    "closed_output_with_tensors": "$RUN $LIFE make 3 >&-; echo $?",
    "more_descriptors": f'$RUN $PY -S -c "{OPEN}" 5</dev/null 9>/dev/null',
    "output_is_a_folder_away": "mkdir d; $RUN sh -c 'cd d; echo x > y'; cat d/y",
    "full_device": "$RUN sh -c 'echo x' > /dev/full 2>/dev/null; echo $?",
    "read_only_output": "$RUN sh -c 'echo x' 1</dev/null 2>/dev/null; echo $?",
    "output_is_a_socket": "$PY -S -c \"import socket, subprocess as p, os; a, b = socket.socketpair(); "
        "c = p.Popen(os.environ['RUN'].split() + ['echo', 'x'], stdout=b, stderr=-3); b.close(); "
        "c.wait(); print(a.recv(9))\"",
    "a_terminal": "script -qec \"$RUN tty -s\" /dev/null < /dev/null > /dev/null; echo $?",
}  # fmt: skip

LIMITS = {
    "file_size": "$RUN sh -c 'ulimit -f 100; head -c 1000000 /dev/zero > f; echo $?'; wc -c < f",
    "file_size_and_tensors": "ulimit -f 16384; $RUN $LIFE make 3",
    "descriptors": "ulimit -n 20; $RUN sh -c 'ulimit -n'",
    "descriptors_and_tensors": "ulimit -n 24; $RUN $LIFE make 3",
    "cpu_time": "ulimit -t 1; $RUN sh -c 'while :; do :; done'; echo $?",
    "stack": "ulimit -s 1024; $RUN sh -c 'ulimit -s'",
    "no_core": "ulimit -c 0; $RUN sh -c 'ulimit -c'",
    "address_space": "ulimit -v 4000000; $RUN sh -c 'ulimit -v'",
    "address_space_and_tensors": "ulimit -v 8000000; $RUN $LIFE make 3",
    "locked_memory": "ulimit -l 64; $RUN $LIFE make 3",
    "niceness": "$RUN nice -n 5 nice",
    "affinity": "$RUN taskset -c 0 nproc",
    "umask": "umask 077; $RUN sh -c 'umask; : > f; stat -c %a f'",
    "umask_that_takes_all": "umask 777; $RUN sh -c umask",
    "cpu_limit_of_the_caller_is_the_jobs": "ulimit -t 100; $RUN sh -c 'ulimit -t'",
    "personality": "$RUN setarch -R $LIFE make 3",
    "timer_that_outlives_exec": "$PY -S -c \"import os, signal; signal.alarm(1); w = os.environ['RUN'].split() + "
        "['sleep', '9']; os.execvp(w[0], w)\" 2>/dev/null; echo $?",
}  # fmt: skip

SIGNALS = {
    "one_each": "$SEND one HUP INT QUIT USR1 USR2 ALRM TERM XCPU CONT WINCH -- $RUN $COUNT HUP INT QUIT USR1 USR2 ALRM TERM XCPU CONT WINCH",
    "group_each": "$SEND group HUP INT QUIT USR1 USR2 ALRM TERM XCPU CONT WINCH -- $RUN $COUNT HUP INT QUIT USR1 USR2 ALRM TERM XCPU CONT WINCH",
    "every_process_each": "$SEND each USR1 TERM INT -- $RUN $COUNT USR1 TERM INT",
    "rare_ones": "$SEND one ABRT TRAP SYS PIPE URG IO PWR VTALRM PROF XFSZ STKFLT CHLD -- $RUN $COUNT ABRT TRAP SYS PIPE URG IO PWR VTALRM PROF XFSZ STKFLT",
    "faults_from_outside": "$SEND one SEGV BUS FPE ILL -- $RUN $COUNT SEGV BUS FPE ILL",
    "real_time": "$SEND one RTMIN RTMAX -- $RUN $COUNT RTMIN RTMAX",
    "real_time_group": "$SEND group RTMIN RTMAX -- $RUN $COUNT RTMIN RTMAX",
    "default_term": "$SEND one TERM -- $RUN sh -c 'echo ready; sleep 2; :'",
    "default_usr1": "$SEND one USR1 -- $RUN sh -c 'echo ready; exec sleep 9'",
    "default_group_term": "$SEND group TERM -- $RUN sh -c 'echo ready; sleep 9; :'",
    "default_group_int": "$SEND group INT -- $RUN sh -c 'echo ready; exec sleep 9'",
    "hangup_of_the_terminal": "$SEND hangup -- $RUN sh -c 'echo ready; exec sleep 9'",
    "hangup_ignored": "$SEND one HUP TERM -- nohup $RUN sh -c 'echo ready; exec sleep 9' 2>/dev/null",
    "ignored_stays_ignored": "trap '' USR1; $SEND one USR1 TERM -- $RUN sh -c 'echo ready; exec sleep 9'",
    "children_ignored": "trap '' CHLD; $RUN sh -c 'exit 3'; echo $?",
    "blocked_stays_blocked": "$PY -S -c \"import os, signal; signal.pthread_sigmask(0, [12, 34]); w = os.environ['RUN'].split() + "
        "['grep', 'SigBlk', '/proc/self/status']; os.execvp(w[0], w)\"",
    "no_action_inherited": "$RUN grep -E 'Sig(Blk|Ign|Cgt)|ShdPnd' /proc/self/status",
    "stop_and_go_on": "$SEND one TSTP CONT USR1 -- $RUN $COUNT CONT USR1",
    "group_kills_itself": "$SEND one CONT -- $RUN sh -c 'echo ready; sleep 0.3; kill -TERM 0; echo no'",
    "job_signals_its_parent": "$RUN sh -c 'kill -CONT $PPID; echo on'",
    "parent_death": "$PY -S -c \"import ctypes, os; ctypes.CDLL(None).prctl(1, 12); w = os.environ['RUN'].split() + "
        "[os.environ['PY'], '-S', '-c', 'import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)']; "
        "os.execvp(w[0], w)\"",
    "timeout_of_coreutils": "timeout 0.5 $RUN sh -c 'sleep 9'; echo $?",
    "timeout_with_usr1": "timeout -s USR1 2 $RUN sh -c 'trap \"echo saved; exit 5\" USR1; while :; do sleep 0.05; done'; echo $?",
    "trap_in_the_job": "$RUN sh -c 'trap \"echo bye\" EXIT; kill -TERM $$'; echo $?",
}  # fmt: skip

PROCESSES = {
    "background_child": "$RUN sh -c 'sleep 0.1 & wait; echo waited'",
    "grandchildren": "$RUN sh -c 'sh -c \"sh -c \\\"echo deep\\\"\"'",
    "exec": "$RUN sh -c 'exec sh -c \"exec echo last\"'",
    "exec_to_tensors": "$RUN sh -c 'exec $LIFE make 3'",
    "orphan_goes_to_whom_it_would": "$RUN sh -c '(sh -c \"(sleep 0.2; exec $PY -S -c \\\"import os; print(os.getppid())\\\" > f) & \"); until [ -s f ]; do sleep 0.05; done; cat f'",
    "daemon": "$RUN sh -c 'setsid sh -c \"sleep 0.3; echo late > f\" >/dev/null 2>&1 & echo gone'; until [ -s f ]; do sleep 0.05; done; cat f",
    "daemon_holds_output": "$RUN sh -c '(sleep 0.3; echo late) & echo first' | cat",
    "double_fork": "$RUN $PY -S -c 'import os; os.fork() or os._exit(os.fork() and 3); print(os.wait()[1] >> 8)' | sort",
    "children_of_the_job_only": "$RUN $PY -S -c 'import os\ntry: print(os.wait())\nexcept ChildProcessError: print(\"none\")'",
    "session_of_its_own": "$RUN setsid -w sh -c 'exit 6'; echo $?",
    "group_of_its_own": "$RUN $PY -S -c 'import os; os.setpgid(0, 0); print(os.getpgrp() == os.getpid())'",
    "coprocess": "$RUN bash -c 'coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x'",
    "pipeline": "$RUN bash -c 'set -o pipefail; seq 10 | tail -1 | grep 11; echo $?'",
    "xargs": "seq 40 | $RUN xargs -n 1 -P 4 echo | sort -n | sha256sum",
    "make": "printf 'all: a b\\na b:\\n\\t@echo $@\\n' > Makefile; $RUN make -s all",
    "find_exec": "touch a b; $RUN find . -name '[ab]' -exec basename {} ';' | sort",
    "time_of_bash": "$RUN bash -c 'TIMEFORMAT=x; time true'",
    "environment_of_the_job": "WORD='a\nb' $RUN sh -c 'echo \"$WORD\"'",
    "env_dash_i": "$RUN env -i A=1 env",
    "env_without_ours": "$RUN env -u LD_PRELOAD sh -c 'echo ${LD_PRELOAD-none}'",
    "fork_with_tensors": "$RUN $LIFE fork 3",
    "clone_with_tensors": "$RUN $LIFE clone",
    "first_thread_ends_first": "$RUN $LIFE main_thread_ends",
    "a_run_within_a_run": "$RUN $TOOL run -q -o inner -- $LIFE make 3",
    "working_folder_removed": "mkdir d; cd d; $RUN sh -c 'rmdir ../d; echo on'",
    "hundreds_of_children": "$RUN sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; echo $i'",
    "ptrace": "$RUN $PY -S -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'",
    "chdir_root": "$RUN sh -c 'cd /; pwd'",
}

RIGHTS = {
    "user_namespace": "$RUN unshare -r id -u 2>/dev/null; echo $?",
    "pid_namespace": "$RUN unshare --pid --fork sh -c 'echo $$' 2>/dev/null; echo $?",
    "mount_namespace": "$RUN unshare -m sh -c 'mount -t tmpfs none /dev/shm && ls /dev/shm' 2>/dev/null; echo $?",
    "network_namespace": "$RUN unshare -n true 2>/dev/null; echo $?",
    "tensors_in_a_pid_namespace": "$RUN unshare --pid --fork --mount-proc $LIFE make 3 2>/dev/null; echo $?",
    "tensors_without_shared_memory": "$RUN unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec $LIFE make 3' 2>/dev/null; echo $?",
    "dropped_rights": "$RUN setpriv --reuid=65534 --clear-groups id -u 2>/dev/null; echo $?",
    "no_new_privileges": "$RUN setpriv --no-new-privs $LIFE make 3 2>/dev/null; echo $?",
    "chroot": "$RUN chroot / $LIFE make 3 2>/dev/null; echo $?",
    "tensors_with_a_cleared_environment": "$RUN env -i $LIFE make 3",
}

LOADING = {
    "preloaded_nothing": "LD_PRELOAD= $RUN $LIFE make 3",
    "preloaded_missing": "LD_PRELOAD=/no/such.so $RUN true 2>/dev/null; echo $?",
    "bound_at_once": "LD_BIND_NOW=1 $RUN $LIFE make 3",
    "library_path": "LD_LIBRARY_PATH=$PWD:/no/such $RUN $LIFE make 3",
    "debug_of_the_loader": "LD_DEBUG=statistics LD_DEBUG_OUTPUT=$PWD/log $RUN /bin/true; ls log.* > /dev/null; echo $?",
    "malloc_perturbed": "MALLOC_PERTURB_=165 $RUN $LIFE make 3",
    "malloc_checked": "MALLOC_CHECK_=3 $RUN $LIFE make 3",
    "one_arena": "MALLOC_ARENA_MAX=1 $RUN $LIFE make 3",
    "jemalloc": "LD_PRELOAD=${JEMALLOC-} $RUN $LIFE make 3",
    "tcmalloc": "LD_PRELOAD=${TCMALLOC-} $RUN $LIFE make 3",
    "locale": "LC_ALL=C $RUN $LIFE make 3",
    "no_home": "unset HOME; $RUN $LIFE make 3",
    "temporary_folder_missing": "TMPDIR=/no/such $RUN $LIFE make 3",
    "rank": "RANK=1 WORLD_SIZE=2 $RUN $LIFE make 3",
    "rank_that_is_no_number": "RANK=first WORLD_SIZE= $RUN $LIFE make 3",
}

# Python with torch: seconds each, so that most are for scripts/soak.
NUMBERS = {"train": f"$RUN $PY -c '{TRAIN}'"}
LONG = {
    "train_in_a_pid_namespace": f"$RUN unshare --pid --fork --mount-proc $PY -c '{TRAIN}' 2>/dev/null; echo $?",
    "train_in_full": f"$RUN_FULL $PY -c '{TRAIN}'",
    "train_threads": f"OMP_NUM_THREADS=2 $RUN $PY -c '{TRAIN}'",
    "optimized": f"$RUN $PY -O -c '{TRAIN}'",
    "isolated": f"$RUN $PY -I -c '{TRAIN}'",
    "development_mode": f"$RUN $PY -W ignore -X dev -c '{TRAIN}'",
    "malloc_of_python": f"PYTHONMALLOC=malloc $RUN $PY -c '{TRAIN}'",
    "debug_allocator": f"PYTHONMALLOC=debug $RUN $PY -c '{TRAIN}'",
    "hash_seed": f"PYTHONHASHSEED=1 $RUN $PY -c '{TRAIN}'",
    "traced_by_python": f"$RUN $PY -c 'import sys; sys.settrace(lambda *a: None); {TORCH}; print(torch.ones(9).sum())'",
    "profiled": f"$RUN $PY -c 'import cProfile; {TORCH}; cProfile.run(\"torch.ones(3)\", \"p\"); print(1)'",
    "exception": f"$RUN $PY -c '{TORCH}; torch.ones(9); 1 / 0' 2>&1 | tail -1",
    "exit_in_the_middle": f"$RUN $PY -c '{TORCH}; x = torch.ones(99); raise SystemExit(7)'",
    "recursion": f"$RUN $PY -c '{TORCH}\ndef f(n): return torch.ones(9) if n == 0 else f(n - 1) + 1\nprint(f(400))'",
    "pool": f"$RUN $PY -c '{TORCH}; import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); print(p.map(abs, [-1, -2]))'",
    "standard_input_program": f"echo '{TORCH}; print(torch.arange(5).sum())' | $RUN $PY -",
    "launcher": "echo 'import os; print(os.environ[\"RANK\"])' > t.py; $RUN $PY -m torch.distributed.run --nproc-per-node 2 t.py 2>/dev/null | sort",
    "ranks_below_a_launcher": "echo 'import os, torch; print(os.environ[\"RANK\"], torch.ones(9).sum())' > t.py; "
        "$PY -m torch.distributed.run --nproc-per-node 2 --no-python $RUN $PY t.py 2>/dev/null | sort",
    "compiled": f"$RUN $PY -c '{TORCH}; f = torch.compile(lambda x: x.sin() + 1, backend=\"aot_eager\"); print(f(torch.ones(4)))'",
    "data_loader": f"$RUN $PY -c '{TORCH}; from torch.utils.data import DataLoader as D; print(sum(float(b.sum()) for b in D(torch.ones(64), num_workers=1)))'",
    "vfork_and_spawn_with_tensors": "$RUN $LIFE execute",
    "big_threads": "$RUN $LIFE threads 200",
    "cancelled_threads": "$RUN $LIFE cancel 20",
    "timer": "$RUN $LIFE timer real",
}  # fmt: skip

FAST = {**EXITS, **WORDS, **STREAMS, **LIMITS, **SIGNALS, **PROCESSES, **RIGHTS, **LOADING, **NUMBERS}
