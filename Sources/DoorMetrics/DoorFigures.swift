internal import Commands
internal import Door
internal import DoorLive
internal import Synchronization
internal import Telemetry
internal import UploadSpool
internal import Uploads

/// The figures that the door itself has.
enum DoorFigures {
    static func families(
        of statistics: DoorStatistics, failures: [AuthenticationFailure: Int], version: String
    ) -> [MetricFamily] {
        [
            MetricFamily("sluice_build_info", .gauge, [MetricSample(1, [MetricLabel("version", version)])]),
            MetricFamily(
                "http_server_active_requests", .gauge,
                value: Double(statistics.activeRequests.load(ordering: .relaxed))),
            MetricFamily(
                "sluice_door_connections", .gauge, value: Double(statistics.connections.load(ordering: .relaxed))),
            MetricFamily(
                "sluice_door_connections_refused_total", .counter,
                DoorStatistics.refusalReasons.map { reason in
                    MetricSample(Double(statistics.refusedConnections[reason] ?? 0), [MetricLabel("reason", reason)])
                }),
            MetricFamily(
                "sluice_door_connections_expired_total", .counter,
                DoorStatistics.expiryReasons.map { reason in
                    MetricSample(Double(statistics.expired[reason] ?? 0), [MetricLabel("reason", reason)])
                }),
            MetricFamily(
                "sluice_door_body_bytes", .gauge, value: Double(statistics.bodyBytes.load(ordering: .relaxed))),
            MetricFamily(
                "sluice_door_bodies_refused_total", .counter,
                value: Double(statistics.refusedBodies.load(ordering: .relaxed))),
            counter("sluice_door_bad_requests_total", "reason", statistics.badRequests),
            MetricFamily(
                "sluice_auth_failures_total", .counter,
                AuthenticationFailure.allCases.map {
                    MetricSample(Double(failures[$0] ?? 0), [MetricLabel("reason", $0.rawValue)])
                }),
        ]
    }

    static func families(of uploads: UploadStatistics.Counts) -> [MetricFamily] {
        var total = MetricFamily("sluice_uploads_total", .counter)
        var received = MetricFamily("sluice_upload_received_bytes_total", .counter)
        var durable = MetricFamily("sluice_upload_durable_bytes_total", .counter)
        for origin in UploadProtocol.allCases {
            let label = MetricLabel("protocol", origin.rawValue)
            for (outcome, counts) in [
                ("created", uploads.created), ("complete", uploads.completed), ("ended", uploads.ended),
            ] {
                total.add(Double(counts[origin] ?? 0), [label, MetricLabel("outcome", outcome)])
            }
            received.add(Double(uploads.received[origin] ?? 0), [label])
            durable.add(Double(uploads.durable[origin] ?? 0), [label])
        }
        let errors = UploadError.Kind.allCases.map {
            MetricSample(Double(uploads.errors[$0] ?? 0), [MetricLabel("reason", $0.rawValue)])
        }
        return [total, received, durable, MetricFamily("sluice_upload_errors_total", .counter, errors)]
    }

    /// - Parameters:
    ///   - commands: of the API, by type.
    ///   - uploads: commands that uploads became, by type.
    static func submissions(_ commands: [String: Int], uploads: [String: Int]) -> MetricFamily {
        var family = MetricFamily("sluice_commands_submitted_total", .counter)
        for (source, counts) in [("api", commands), ("upload", uploads)] {
            for (type, count) in counts {
                family.add(Double(count), [MetricLabel("type", type), MetricLabel("source", source)])
            }
        }
        return family
    }

    static func families(of spool: SpoolFigures) -> [MetricFamily] {
        [
            MetricFamily(
                "sluice_spool_bytes", .gauge,
                [
                    MetricSample(Double(spool.used), [MetricLabel("state", "used")]),
                    MetricSample(Double(spool.promised), [MetricLabel("state", "promised")]),
                ]),
            MetricFamily("sluice_spool_free_bytes", .gauge, value: Double(spool.free)),
            MetricFamily("sluice_spool_floor_bytes", .gauge, value: Double(spool.floor)),
        ]
    }

    static func families(of certificate: CertificateSource) -> [MetricFamily] {
        [
            MetricFamily(
                "sluice_tls_certificate_not_after_seconds", .gauge,
                value: Double(certificate.expires.milliseconds) / 1000),
            MetricFamily("sluice_config_reload_success", .gauge, value: certificate.isCurrent ? 1 : 0),
        ]
    }

    private static func counter(_ name: String, _ label: String, _ counts: [String: Int]) -> MetricFamily {
        MetricFamily(name, .counter, counts.map { MetricSample(Double($0.value), [MetricLabel(label, $0.key)]) })
    }
}

/// The figures of the streams of events.
enum StreamFigures {
    static func families(of statistics: LiveStatistics) -> [MetricFamily] {
        var subscribers = MetricFamily("sluice_sse_subscribers", .gauge)
        var dropped = MetricFamily("sluice_sse_dropped_total", .counter)
        for kind in StreamKind.allCases {
            let counts = statistics[kind]
            let stream = MetricLabel("stream", kind.rawValue)
            subscribers.add(Double(counts.subscribers), [stream])
            for drop in LiveStatistics.Drop.allCases {
                dropped.add(Double(counts.dropped[drop] ?? 0), [stream, MetricLabel("reason", drop.rawValue)])
            }
            dropped.add(Double(counts.refused), [stream, MetricLabel("reason", "refused")])
        }
        return [subscribers, dropped]
    }
}
