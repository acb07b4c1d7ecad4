#define _GNU_SOURCE
#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct connection_options;
typedef void (*notice_receiver)(void *context, const cpostgresql_result *notice);

/// The table of the functions: return type, name, parameters.
#define LIBPQ_FUNCTIONS(FUNCTION) \
    FUNCTION(int, PQlibVersion, (void)) \
    FUNCTION(struct connection_options *, PQconninfoParse, (const char *, char **)) \
    FUNCTION(void, PQconninfoFree, (struct connection_options *)) \
    FUNCTION(cpostgresql_connection *, PQconnectStartParams, (const char *const *, const char *const *, int)) \
    FUNCTION(int, PQconnectPoll, (cpostgresql_connection *)) \
    FUNCTION(int, PQsetErrorVerbosity, (cpostgresql_connection *, int)) \
    FUNCTION(void, PQfinish, (cpostgresql_connection *)) \
    FUNCTION(int, PQsocket, (const cpostgresql_connection *)) \
    FUNCTION(int, PQstatus, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQerrorMessage, (const cpostgresql_connection *)) \
    FUNCTION(int, PQconnectionNeedsPassword, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQpass, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQhost, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQport, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQdb, (const cpostgresql_connection *)) \
    FUNCTION(char *, PQuser, (const cpostgresql_connection *)) \
    FUNCTION(int, PQserverVersion, (const cpostgresql_connection *)) \
    FUNCTION(int, PQbackendPID, (const cpostgresql_connection *)) \
    FUNCTION(int, PQsslInUse, (cpostgresql_connection *)) \
    FUNCTION(notice_receiver, PQsetNoticeReceiver, (cpostgresql_connection *, notice_receiver, void *)) \
    FUNCTION(int, PQsetnonblocking, (cpostgresql_connection *, int)) \
    FUNCTION(int, PQenterPipelineMode, (cpostgresql_connection *)) \
    FUNCTION(int, PQsendPrepare, (cpostgresql_connection *, const char *, const char *, int, const uint32_t *)) \
    FUNCTION( \
        int, PQsendQueryPrepared, \
        (cpostgresql_connection *, const char *, int, const char *const *, const int *, const int *, int)) \
    FUNCTION( \
        int, PQsendQueryParams, \
        (cpostgresql_connection *, const char *, int, const uint32_t *, const char *const *, const int *, const int *, int)) \
    FUNCTION(int, PQpipelineSync, (cpostgresql_connection *)) \
    FUNCTION(int, PQflush, (cpostgresql_connection *)) \
    FUNCTION(int, PQconsumeInput, (cpostgresql_connection *)) \
    FUNCTION(int, PQisBusy, (cpostgresql_connection *)) \
    FUNCTION(cpostgresql_result *, PQgetResult, (cpostgresql_connection *)) \
    FUNCTION(void, PQclear, (cpostgresql_result *)) \
    FUNCTION(int, PQresultStatus, (const cpostgresql_result *)) \
    FUNCTION(char *, PQresultErrorField, (const cpostgresql_result *, int)) \
    FUNCTION(char *, PQresultErrorMessage, (const cpostgresql_result *)) \
    FUNCTION(char *, PQcmdStatus, (cpostgresql_result *)) \
    FUNCTION(char *, PQcmdTuples, (cpostgresql_result *)) \
    FUNCTION(int, PQntuples, (const cpostgresql_result *)) \
    FUNCTION(int, PQnfields, (const cpostgresql_result *)) \
    FUNCTION(uint32_t, PQftype, (const cpostgresql_result *, int)) \
    FUNCTION(char *, PQgetvalue, (const cpostgresql_result *, int, int)) \
    FUNCTION(int, PQgetlength, (const cpostgresql_result *, int, int)) \
    FUNCTION(int, PQgetisnull, (const cpostgresql_result *, int, int))

#define POINTER(type, name, parameters) type(*name) parameters;
struct functions {
    LIBPQ_FUNCTIONS(POINTER)
};

static const char library_name[] = "libpq.so.5";
static struct functions libpq;
static int load_result;
static char load_detail[512];

/// Fills the table from an open library. Returns the name of the first function that it lacks, or null.
static const char *find_functions(void *library, struct functions *table) {
    // POSIX, dlsym(): the address of a function is stored by way of a pointer to an object.
#define FIND(type, name, parameters) \
    if (!(*(void **)&table->name = dlsym(library, #name))) return #name;
    LIBPQ_FUNCTIONS(FIND)
    return NULL;
}

static int load(const char *name, struct functions *table, char *detail, size_t size) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        snprintf(detail, size, "%s", text ? text : "no reason is known");
        return CPOSTGRESQL_LIBRARY_MISSING;
    }
    const char *missing = find_functions(library, table);
    if (!missing) return CPOSTGRESQL_LOADED;
    snprintf(detail, size, "%s", missing);
    dlclose(library);
    return CPOSTGRESQL_FUNCTION_MISSING;
}

static void load_once(void) { load_result = load(library_name, &libpq, load_detail, sizeof load_detail); }

int cpostgresql_load(const char **detail) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    *detail = load_result == CPOSTGRESQL_LOADED ? NULL : load_detail;
    return load_result;
}

int cpostgresql_probe(const char *library, char *detail, size_t size) {
    struct functions unused;
    return load(library, &unused, detail, size);
}

int cpostgresql_library_version(void) { return libpq.PQlibVersion(); }

int cpostgresql_knows_parameter(const char *name) {
    char setting[80];
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || name[length] || length + sizeof "=1" > sizeof setting) return 0;
    snprintf(setting, sizeof setting, "%s=1", name);
    struct connection_options *options = libpq.PQconninfoParse(setting, NULL);
    if (!options) return 0;
    libpq.PQconninfoFree(options);
    return 1;
}

// MARK: Connecting

cpostgresql_connection *cpostgresql_connect_start(const char *const *keywords, const char *const *values) {
    return libpq.PQconnectStartParams(keywords, values, 0);
}

int cpostgresql_connect_poll(cpostgresql_connection *connection) { return libpq.PQconnectPoll(connection); }

void cpostgresql_set_verbose_errors(cpostgresql_connection *connection) {
    const int verbose = 2;
    libpq.PQsetErrorVerbosity(connection, verbose);
}

void cpostgresql_finish(cpostgresql_connection *connection) { libpq.PQfinish(connection); }
int cpostgresql_socket(const cpostgresql_connection *connection) { return libpq.PQsocket(connection); }

int cpostgresql_is_connected(const cpostgresql_connection *connection) {
    const int connection_ok = 0;
    return libpq.PQstatus(connection) == connection_ok;
}

const char *cpostgresql_error_message(const cpostgresql_connection *connection) { return libpq.PQerrorMessage(connection); }

int cpostgresql_needs_password(const cpostgresql_connection *connection) {
    return libpq.PQconnectionNeedsPassword(connection);
}

const char *cpostgresql_password(const cpostgresql_connection *connection) { return libpq.PQpass(connection); }
const char *cpostgresql_host(const cpostgresql_connection *connection) { return libpq.PQhost(connection); }
const char *cpostgresql_port(const cpostgresql_connection *connection) { return libpq.PQport(connection); }
const char *cpostgresql_database(const cpostgresql_connection *connection) { return libpq.PQdb(connection); }
const char *cpostgresql_user(const cpostgresql_connection *connection) { return libpq.PQuser(connection); }
int cpostgresql_server_version(const cpostgresql_connection *connection) { return libpq.PQserverVersion(connection); }
int cpostgresql_backend_pid(const cpostgresql_connection *connection) { return libpq.PQbackendPID(connection); }
int cpostgresql_uses_tls(cpostgresql_connection *connection) { return libpq.PQsslInUse(connection); }

static void drop_notice(void *context, const cpostgresql_result *notice) {
    (void)context;
    (void)notice;
}

void cpostgresql_set_notice_receiver(cpostgresql_connection *connection, notice_receiver receiver, void *context) {
    libpq.PQsetNoticeReceiver(connection, receiver ? receiver : drop_notice, context);
}

// MARK: Statements

int cpostgresql_set_nonblocking(cpostgresql_connection *connection) { return libpq.PQsetnonblocking(connection, 1); }
int cpostgresql_enter_pipeline_mode(cpostgresql_connection *connection) { return libpq.PQenterPipelineMode(connection); }

int cpostgresql_send_prepare(
    cpostgresql_connection *connection, const char *name, const char *sql, int count, const uint32_t *types) {
    return libpq.PQsendPrepare(connection, name, sql, count, types);
}

int cpostgresql_send_prepared(
    cpostgresql_connection *connection, const char *name, int count, const char *const *values, const int *lengths,
    const int *formats) {
    return libpq.PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1);
}

int cpostgresql_send_query(
    cpostgresql_connection *connection, const char *sql, int count, const uint32_t *types, const char *const *values,
    const int *lengths, const int *formats) {
    return libpq.PQsendQueryParams(connection, sql, count, types, values, lengths, formats, 1);
}

int cpostgresql_pipeline_sync(cpostgresql_connection *connection) { return libpq.PQpipelineSync(connection); }
int cpostgresql_flush(cpostgresql_connection *connection) { return libpq.PQflush(connection); }
int cpostgresql_consume_input(cpostgresql_connection *connection) { return libpq.PQconsumeInput(connection); }
int cpostgresql_is_busy(cpostgresql_connection *connection) { return libpq.PQisBusy(connection); }
cpostgresql_result *cpostgresql_next_result(cpostgresql_connection *connection) { return libpq.PQgetResult(connection); }

// MARK: Results

void cpostgresql_clear(cpostgresql_result *result) { libpq.PQclear(result); }
int cpostgresql_result_status(const cpostgresql_result *result) { return libpq.PQresultStatus(result); }

const char *cpostgresql_error_field(const cpostgresql_result *result, int field) {
    return libpq.PQresultErrorField(result, field);
}

const char *cpostgresql_result_message(const cpostgresql_result *result) { return libpq.PQresultErrorMessage(result); }
const char *cpostgresql_command_tag(cpostgresql_result *result) { return libpq.PQcmdStatus(result); }
const char *cpostgresql_affected_rows(cpostgresql_result *result) { return libpq.PQcmdTuples(result); }
int cpostgresql_row_count(const cpostgresql_result *result) { return libpq.PQntuples(result); }
int cpostgresql_column_count(const cpostgresql_result *result) { return libpq.PQnfields(result); }
uint32_t cpostgresql_column_type(const cpostgresql_result *result, int column) { return libpq.PQftype(result, column); }

const char *cpostgresql_value(const cpostgresql_result *result, int row, int column) {
    return libpq.PQgetvalue(result, row, column);
}

int cpostgresql_value_length(const cpostgresql_result *result, int row, int column) {
    return libpq.PQgetlength(result, row, column);
}

int cpostgresql_value_is_null(const cpostgresql_result *result, int row, int column) {
    return libpq.PQgetisnull(result, row, column);
}
