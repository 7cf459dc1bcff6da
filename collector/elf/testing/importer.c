/* An object whose slots the loader closes after it has relocated it. */
extern int dcmt_test_imported(void);
int dcmt_test_call(void) { return dcmt_test_imported(); }
