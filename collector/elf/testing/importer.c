/* An object whose slots the loader makes read-only after it has relocated them. */
extern int dcmt_test_imported(void);
int dcmt_test_call(void) { return dcmt_test_imported(); }
