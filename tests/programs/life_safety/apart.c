/* For a name space of its own: needs the C library only. */
__attribute__((visibility("default"))) const char* where_am_i(void);
const char* where_am_i(void) { return "apart"; }
