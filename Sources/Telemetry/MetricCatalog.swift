/// The names of all metrics of Sluice: what each one measures, and the buckets of histograms.
package enum MetricCatalog {
    /// A sentence for `# HELP`.
    package static func help(_ name: String) -> String { entries[name] ?? "Measured by a library of the process." }

    /// All names that have an entry.
    package static var names: Set<String> { Set(entries.keys) }

    /// The upper bounds of the buckets of a histogram.
    package static func bounds(_ name: String) -> [Double] {
        switch name {
        // Of the semantic conventions of OpenTelemetry.
        case "http_server_request_duration_seconds":
            [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
        case "sluice_wait_seconds", "sluice_execution_seconds", "sluice_upload_seconds":
            [0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600]
        case "sluice_commit_rows": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
        default: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
        }
    }

    private static let entries: [String: String] = [
        // Of each process
        "process_cpu_seconds_total": "CPU time of the process.",
        "process_resident_memory_bytes": "Memory of the process that is resident.",
        "process_open_fds": "Descriptors that the process has open.",
        "process_max_fds": "Descriptors that the process may open.",
        "process_start_time_seconds": "Start of the process, in Unix time.",
        "sluice_commit_seconds":
            "A commit of workers or of the door, or a write of the coordinator that may have several, with its wait for "
            + "other writers.",
        "sluice_commit_rows": "Writes that share a commit.",
        "sluice_commands_submitted_total":
            "Commands that requests of the API, uploads and schedules submitted. Those of programs and of the command line "
            + "are not counted.",
        // Of the coordinator
        "sluice_commands_dispatched_total": "Commands offered to workers.",
        "sluice_frames_dropped_total": "Frames of sockets that could not be read.",
        "sluice_transitions_total": "Transitions that workers and the coordinator made, by new status.",
        "sluice_worker_deaths_total": "Workers whose commands were released after their deaths, by cause.",
        "sluice_checkpoint_seconds": "A checkpoint of the write-ahead log of a shard.",
        // Of workers
        "sluice_wait_seconds":
            "From the submit of a command to its first claim, with the time that it waited for others.",
        "sluice_execution_seconds": "From the start of an execution to the commit of its end.",
        "sluice_failures_charged_total": "Failed executions that count towards the retry limit, by fault.",
        "sluice_released_total": "Executions that gave their command back uncharged, by cause.",
        "sluice_link_bytes_total": "Bytes that executions sent or received, by link and class of quality of service.",
        "sluice_link_resent_bytes_total": "Bytes that the kernel sent again, by link.",
        // Of the door
        "sluice_build_info": "1, with the version of the door.",
        "sluice_store_up": "Whether the store could be read for these metrics.",
        "sluice_coordinator_up": "Whether a coordinator holds the lock of the data directory.",
        "sluice_events_lag_seconds": "Age of the newest event of the coordinator that the door has heard.",
        "sluice_commands": "Commands in the store by status and quality of service.",
        "sluice_in_doubt": "Commands that a person has to resolve.",
        "sluice_oldest_ready_age_seconds": "Age of the oldest command that may run; 0 where none waits.",
        "sluice_workers": "Workers by state.",
        "sluice_worker_in_flight": "Commands that a worker holds, by seat.",
        "sluice_links": "Links by status.",
        "sluice_link_level": "1 for the present level of a link, 0 for the others.",
        "sluice_link_limit": "Transfers of middle and low quality of service that a link may have.",
        "sluice_link_in_flight": "Transfers of a link.",
        "sluice_link_goodput_bytes_per_second": "Bytes that the peers of a link acknowledge in a second.",
        "sluice_link_round_trip_seconds": "Smoothed round trip of a link.",
        "sluice_wal_bytes": "Write-ahead log of a shard.",
        "sluice_store_bytes": "Files of the store without write-ahead logs.",
        // Of each process, for a store on a server
        "sluice_store_commit_seconds":
            "A transaction on the server of the store, from its first statement until the answer to COMMIT.",
        "sluice_store_round_trips_total": "Requests to the server of the store that waited for an answer.",
        "sluice_store_relation_loads_total":
            "Commits with effects on other commands, by whether the rows read in advance were all that they needed.",
        "sluice_store_repeats_total":
            "Transactions made again because the server had ended them in favour of others, or their wait for a lock.",
        "sluice_store_connections_lost_total": "Connections to the server of the store that were lost.",
        "sluice_store_oldest_transaction_age_seconds":
            "Age of the oldest transaction on the server of the store that the role may see; 0 where none is open.",
        "sluice_uploads": "Uploads that take bytes; at most 1,000 of a shard are counted.",
        "sluice_uploads_total": "Uploads that were created, became complete, or ended otherwise, by protocol.",
        "sluice_upload_received_bytes_total": "Bytes of uploads that came, also those that were dropped, by protocol.",
        "sluice_upload_durable_bytes_total": "Bytes of uploads that became durable, by protocol.",
        "sluice_upload_seconds": "From the creation of an upload to its last byte, with all pauses of its client.",
        "sluice_upload_sync_seconds": "A sync of the file of an upload.",
        "sluice_upload_takeovers_total": "Requests of uploads that were stopped because another one came.",
        "sluice_upload_errors_total": "Requests of uploads that failed, by reason.",
        "sluice_spool_bytes": "Bytes that uploads have or were promised in the spool.",
        "sluice_spool_free_bytes": "Bytes that the disk of the spool has free.",
        "sluice_spool_floor_bytes": "Bytes of the disk of the spool that uploads leave free.",
        "http_server_request_duration_seconds": "From the end of the fields of a request to the end of its response.",
        "http_server_active_requests": "Requests that are being answered.",
        "sluice_door_connections": "Connections of clients that are open.",
        "sluice_door_connections_refused_total": "Connections beyond the maximum, of all clients or of an address.",
        "sluice_door_connections_expired_total": "Connections closed because their client was too slow, by reason.",
        "sluice_door_body_bytes": "Memory that bodies of requests take: JSON, bulks, and fields of forms.",
        "sluice_door_bodies_refused_total": "Requests refused because the bodies of others took that memory.",
        "sluice_door_bad_requests_total": "Requests refused before any endpoint saw them, by type of their problem.",
        "sluice_auth_failures_total": "Requests without a usable token, by reason.",
        "sluice_sse_subscribers": "Streams of events that are open, by kind.",
        "sluice_sse_dropped_total": "Streams of events that the door refused, or ended before their client, by reason.",
        "sluice_config_reload_success": "Whether the files of the certificate could be used when they were last read.",
        "sluice_tls_certificate_not_after_seconds": "End of the validity of the certificate, in Unix time.",
    ]
}
