#ifndef SLUICE_CPOSTGRESQL_H
#define SLUICE_CPOSTGRESQL_H

// The functions of libpq that the store calls. The library is loaded at run time and never linked: a process without a
// PostgreSQL store saves 6 MB of memory and 4 ms of start for OpenSSL, Kerberos and LDAP, and a machine without libpq runs
// everything else. The declarations follow the manual of PostgreSQL 14, chapter “libpq”; nothing of libpq-dev is used.
//
// Every function but cpostgresql_load() and cpostgresql_probe() requires that cpostgresql_load() has returned
// CPOSTGRESQL_LOADED. A connection is used by one thread at a time. Texts belong to libpq unless said otherwise.

#include <stddef.h>
#include <stdint.h>

/// PGconn
typedef struct pg_conn cpostgresql_connection;
/// PGresult
typedef struct pg_result cpostgresql_result;

enum cpostgresql_load_result {
    CPOSTGRESQL_LOADED = 0,
    /// There is no library of that name.
    CPOSTGRESQL_LIBRARY_MISSING = 1,
    /// The library lacks a function: it is older than PostgreSQL 14, or another library.
    CPOSTGRESQL_FUNCTION_MISSING = 2,
};

/// Loads `libpq.so.5` at the first call, in any thread; every later call has the same outcome. The library stays loaded.
/// Returns `cpostgresql_load_result`. `detail` becomes the text of dlerror(3), or the name of the missing function; null
/// where all is well. It is never freed.
int cpostgresql_load(const char **detail);
/// Finds out what cpostgresql_load() would return for a library of another name, and uses that library for nothing.
/// - detail: where its text is written, cut after `size` bytes with the zero at its end.
int cpostgresql_probe(const char *library, char *detail, size_t size);
/// The version of the loaded library, such as 150018 for 15.18. PQlibVersion.
int cpostgresql_library_version(void);

/// Whether the library knows a parameter of a connection, such as `sslmode`. PQconninfoParse.
/// - name: letters, digits and underscores; for any other name this is false.
int cpostgresql_knows_parameter(const char *name);

// MARK: Connecting

enum cpostgresql_polling {
    CPOSTGRESQL_POLLING_FAILED = 0,
    /// Wait until the socket can be read, and poll again.
    CPOSTGRESQL_POLLING_READING = 1,
    CPOSTGRESQL_POLLING_WRITING = 2,
    CPOSTGRESQL_POLLING_OK = 3,
};

/// Starts to connect. Both arrays end with a null pointer. Never expands a connection string in `dbname`. Looks up a host
/// that is a name, which blocks. Returns null without memory. PQconnectStartParams.
cpostgresql_connection *cpostgresql_connect_start(const char *const *keywords, const char *const *values);
/// Goes on with connecting; ask for the socket after each call, as it may be another one. Returns `cpostgresql_polling`.
/// PQconnectPoll.
int cpostgresql_connect_poll(cpostgresql_connection *connection);
/// Makes the text of an error have its SQLSTATE: `FATAL:  28P01: …`. A refused connection has it nowhere else.
/// PQsetErrorVerbosity with PQERRORS_VERBOSE.
void cpostgresql_set_verbose_errors(cpostgresql_connection *connection);
/// Closes the connection and frees it. Does not wait for the server. PQfinish.
void cpostgresql_finish(cpostgresql_connection *connection);
/// The descriptor of the socket; -1 where there is none. PQsocket.
int cpostgresql_socket(const cpostgresql_connection *connection);
/// Whether the connection is established and not known to be lost. PQstatus.
int cpostgresql_is_connected(const cpostgresql_connection *connection);
/// The last error, with a newline at its end. PQerrorMessage.
const char *cpostgresql_error_message(const cpostgresql_connection *connection);
/// Whether the server has asked for a password and there was none. PQconnectionNeedsPassword.
int cpostgresql_needs_password(const cpostgresql_connection *connection);
/// PQpass, PQhost, PQport, PQdb, PQuser: as they were used, with the defaults of libpq. Maybe null.
const char *cpostgresql_password(const cpostgresql_connection *connection);
const char *cpostgresql_host(const cpostgresql_connection *connection);
const char *cpostgresql_port(const cpostgresql_connection *connection);
const char *cpostgresql_database(const cpostgresql_connection *connection);
const char *cpostgresql_user(const cpostgresql_connection *connection);
/// The version of the server, such as 150018 for 15.18. PQserverVersion.
int cpostgresql_server_version(const cpostgresql_connection *connection);
/// The id of the server's process. PQbackendPID.
int cpostgresql_backend_pid(const cpostgresql_connection *connection);
/// Whether the connection is encrypted with TLS. PQsslInUse.
int cpostgresql_uses_tls(cpostgresql_connection *connection);
/// Calls `receiver` for each notice and warning of the server; null drops them. libpq alone would print them to standard
/// error. PQsetNoticeReceiver.
void cpostgresql_set_notice_receiver(
    cpostgresql_connection *connection, void (*receiver)(void *context, const cpostgresql_result *notice), void *context);

// MARK: Statements. Parameters and results are binary.

/// No call blocks from now on. Returns 0, or -1. PQsetnonblocking.
int cpostgresql_set_nonblocking(cpostgresql_connection *connection);
/// Returns 1, or 0 on failure. PQenterPipelineMode, PostgreSQL 14.
int cpostgresql_enter_pipeline_mode(cpostgresql_connection *connection);
/// Queues the preparation of a statement. Returns 1, or 0 on failure. PQsendPrepare.
int cpostgresql_send_prepare(
    cpostgresql_connection *connection, const char *name, const char *sql, int count, const uint32_t *types);
/// Queues a prepared statement. A null value is NULL. Returns 1, or 0 on failure. PQsendQueryPrepared.
int cpostgresql_send_prepared(
    cpostgresql_connection *connection, const char *name, int count, const char *const *values, const int *lengths,
    const int *formats);
/// Queues a statement that is not prepared. PQsendQueryParams.
int cpostgresql_send_query(
    cpostgresql_connection *connection, const char *sql, int count, const uint32_t *types, const char *const *values,
    const int *lengths, const int *formats);
/// Ends the pipeline: after an error the server goes on behind this point. Returns 1, or 0 on failure. PQpipelineSync.
int cpostgresql_pipeline_sync(cpostgresql_connection *connection);
/// Sends what is queued. Returns 0 where all is sent, 1 where the socket takes no more now, -1 on failure. PQflush.
int cpostgresql_flush(cpostgresql_connection *connection);
/// Reads what the socket has. Returns 1, or 0 where the connection is lost. PQconsumeInput.
int cpostgresql_consume_input(cpostgresql_connection *connection);
/// Whether cpostgresql_next_result() would block. PQisBusy.
int cpostgresql_is_busy(cpostgresql_connection *connection);
/// The next result, which the caller frees; null behind the results of one statement. PQgetResult.
cpostgresql_result *cpostgresql_next_result(cpostgresql_connection *connection);

// MARK: Results

enum cpostgresql_status {
    CPOSTGRESQL_COMMAND_OK = 1,
    CPOSTGRESQL_TUPLES_OK = 2,
    CPOSTGRESQL_NONFATAL_ERROR = 6,
    CPOSTGRESQL_FATAL_ERROR = 7,
    CPOSTGRESQL_PIPELINE_SYNC = 10,
    /// The statement was left out, because one before it in its pipeline has failed.
    CPOSTGRESQL_PIPELINE_ABORTED = 11,
};

/// The fields of an error or notice (manual, “Error and Notice Message Fields”).
enum cpostgresql_field {
    /// Not localized: ERROR, FATAL, PANIC, WARNING, NOTICE, DEBUG, INFO or LOG. PostgreSQL 9.6.
    CPOSTGRESQL_FIELD_SEVERITY = 'V',
    CPOSTGRESQL_FIELD_SQLSTATE = 'C',
    CPOSTGRESQL_FIELD_MESSAGE = 'M',
    CPOSTGRESQL_FIELD_DETAIL = 'D',
    CPOSTGRESQL_FIELD_HINT = 'H',
    CPOSTGRESQL_FIELD_CONSTRAINT = 'n',
    /// The function of the server's source that has reported it.
    CPOSTGRESQL_FIELD_FUNCTION = 'R',
};

void cpostgresql_clear(cpostgresql_result *result);
/// Any ExecStatusType; those that the store meets are `cpostgresql_status`. PQresultStatus.
int cpostgresql_result_status(const cpostgresql_result *result);
/// A field of an error; null where it has none. PQresultErrorField.
const char *cpostgresql_error_field(const cpostgresql_result *result, int field);
/// The whole error, for one that has no fields because libpq itself has made it. PQresultErrorMessage.
const char *cpostgresql_result_message(const cpostgresql_result *result);
/// The tag of the command: `COMMIT`, `INSERT 0 3`. PQcmdStatus.
const char *cpostgresql_command_tag(cpostgresql_result *result);
/// The number of rows of the tag as a text; empty where it has none. PQcmdTuples.
const char *cpostgresql_affected_rows(cpostgresql_result *result);
int cpostgresql_row_count(const cpostgresql_result *result);
int cpostgresql_column_count(const cpostgresql_result *result);
/// The OID of a column's type. PQftype.
uint32_t cpostgresql_column_type(const cpostgresql_result *result, int column);
/// The bytes of a value, never null; a zero follows them. PQgetvalue.
const char *cpostgresql_value(const cpostgresql_result *result, int row, int column);
int cpostgresql_value_length(const cpostgresql_result *result, int row, int column);
int cpostgresql_value_is_null(const cpostgresql_result *result, int row, int column);

#endif
