// RocksDB's C API as far as rqps uses it, with functions that do nothing: what an operation takes
// with this library is rqps's own. A value has 400 bytes, and a key 20, as in the workloads.

#include <stddef.h>
#include <stdint.h>

static char value[400];
static char key[20];
static char something;

#define RETURNS_NOTHING(name) void name(void) {}
#define RETURNS_A_HANDLE(name) void *name(void) { return &something; }
#define RETURNS_NO_TEXT(name) char *name(void) { return NULL; }

RETURNS_A_HANDLE(rocksdb_block_based_options_create)
RETURNS_A_HANDLE(rocksdb_cache_create_hyper_clock)
RETURNS_A_HANDLE(rocksdb_create_iterator)
RETURNS_A_HANDLE(rocksdb_flushoptions_create)
RETURNS_A_HANDLE(rocksdb_get_pinned)
RETURNS_A_HANDLE(rocksdb_open)
RETURNS_A_HANDLE(rocksdb_options_create)
RETURNS_A_HANDLE(rocksdb_perfcontext_create)
RETURNS_A_HANDLE(rocksdb_readoptions_create)
RETURNS_A_HANDLE(rocksdb_writeoptions_create)

RETURNS_NO_TEXT(rocksdb_options_statistics_get_string)
RETURNS_NO_TEXT(rocksdb_property_value)

RETURNS_NOTHING(rocksdb_block_based_options_destroy)
RETURNS_NOTHING(rocksdb_block_based_options_set_block_cache)
RETURNS_NOTHING(rocksdb_cache_destroy)
RETURNS_NOTHING(rocksdb_close)
RETURNS_NOTHING(rocksdb_compact_range)
RETURNS_NOTHING(rocksdb_destroy_db)
RETURNS_NOTHING(rocksdb_flush)
RETURNS_NOTHING(rocksdb_flushoptions_destroy)
RETURNS_NOTHING(rocksdb_free)
RETURNS_NOTHING(rocksdb_get_options_from_string)
RETURNS_NOTHING(rocksdb_iter_destroy)
RETURNS_NOTHING(rocksdb_iter_get_error)
RETURNS_NOTHING(rocksdb_iter_next)
RETURNS_NOTHING(rocksdb_iter_prev)
RETURNS_NOTHING(rocksdb_iter_seek)
RETURNS_NOTHING(rocksdb_iter_seek_to_first)
RETURNS_NOTHING(rocksdb_options_destroy)
RETURNS_NOTHING(rocksdb_options_enable_statistics)
RETURNS_NOTHING(rocksdb_options_set_block_based_table_factory)
RETURNS_NOTHING(rocksdb_options_set_create_if_missing)
RETURNS_NOTHING(rocksdb_perfcontext_destroy)
RETURNS_NOTHING(rocksdb_pinnableslice_destroy)
RETURNS_NOTHING(rocksdb_put)
RETURNS_NOTHING(rocksdb_readoptions_destroy)
RETURNS_NOTHING(rocksdb_writeoptions_destroy)
RETURNS_NOTHING(rocksdb_writeoptions_disable_WAL)

uint64_t rocksdb_perfcontext_metric(void) { return 0; }

unsigned char rocksdb_iter_valid(void) { return 1; }

const char *rocksdb_iter_key(void *iterator, size_t *length) {
  (void)iterator;
  *length = sizeof key;
  return key;
}

const char *rocksdb_iter_value(void *iterator, size_t *length) {
  (void)iterator;
  *length = sizeof value;
  return value;
}

const char *rocksdb_pinnableslice_value(void *slice, size_t *length) {
  (void)slice;
  *length = sizeof value;
  return value;
}

void rocksdb_multi_get(void *db, void *options, size_t count, const char *const *keys,
                       const size_t *sizes, char **values, size_t *lengths, char **errors) {
  (void)db, (void)options, (void)keys, (void)sizes, (void)errors;
  for (size_t i = 0; i < count; i++) {
    values[i] = value;
    lengths[i] = sizeof value;
  }
}
