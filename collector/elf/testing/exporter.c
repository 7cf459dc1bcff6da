/* The function that the importer imports. */
int dcmt_test_imported(void) { return 1; }
