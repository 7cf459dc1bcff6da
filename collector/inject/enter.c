/* A library that puts its process in standby when it is loaded: for a process that has nothing of ours yet, of which
 * one thread is made to load it (collector/recorder/target). */
extern void dcmt_standby(void);

__attribute__((constructor)) static void enter(void) { dcmt_standby(); }
