/* A library that puts its process in standby when it is loaded. It is for a process without our code: one of its
 * threads is made to load this library (collector/recorder/target). */
extern void dcmt_standby(void);

__attribute__((constructor)) static void enter(void) { dcmt_standby(); }
