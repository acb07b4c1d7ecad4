internal import Commands
internal import Console
internal import Glibc
internal import Host
package import Queue
package import Telemetry

/// The figures of a data directory that its store, its files and its locks have.
struct StoreFigures: Sendable {
    /// Whether the store could be read. The other figures of the store are missing otherwise.
    var isReadable = false
    var hasCoordinator = false
    var counts = CommandCounts()
    /// When the oldest command that may run came to its status, by quality of service.
    var oldest: [QualityOfService: Timestamp] = [:]
    var workers: [WorkerReading] = []
    /// Bytes, by shard.
    var logs: [Int64] = []
    /// Bytes of all shards.
    var size: Int64 = 0
    var openUploads = 0

    private static let maxUploads = 1000

    init() {}

    /// Reads the figures, in a time that does not depend on the number of commands. It blocks.
    init(reading queue: QueueAccess) {
        hasCoordinator = queue.coordinator != nil
        let files = queue.fileSizes
        logs = files.map(\.wal)
        size = files.reduce(0) { $0 + $1.database }
        do {
            counts = try queue.counts()
            workers = try queue.workers()
            if counts[.new] + counts[.error] > 0 { oldest = try queue.oldestReady() }
            openUploads = try queue.openUploads(countedTo: Self.maxUploads)
            isReadable = true
        } catch {
            isReadable = false
        }
    }
}

extension StoreFigures {
    /// - Parameter now: the wall clock.
    func families(now: Timestamp) -> [MetricFamily] {
        var families = [
            MetricFamily("sluice_store_up", .gauge, value: isReadable ? 1 : 0),
            MetricFamily("sluice_coordinator_up", .gauge, value: hasCoordinator ? 1 : 0),
            MetricFamily("sluice_store_bytes", .gauge, value: Double(size)),
            MetricFamily(
                "sluice_wal_bytes", .gauge,
                logs.enumerated().map { MetricSample(Double($1), [MetricLabel("shard", "\($0)")]) }),
        ]
        guard isReadable else { return families }
        families += [
            commands, ages(now: now), workersByState, inFlight,
            MetricFamily("sluice_in_doubt", .gauge, value: Double(counts[.inDoubt])),
            MetricFamily(
                "sluice_uploads", .gauge, [MetricSample(Double(openUploads), [MetricLabel("state", "open")])]),
        ]
        return families
    }

    private var commands: MetricFamily {
        var family = MetricFamily("sluice_commands", .gauge)
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases {
                family.add(
                    Double(counts[status, qos]), [MetricLabel("status", status.name), MetricLabel("qos", qos.name)])
            }
        }
        return family
    }

    private func ages(now: Timestamp) -> MetricFamily {
        var family = MetricFamily("sluice_oldest_ready_age_seconds", .gauge)
        for qos in QualityOfService.allCases {
            let age = oldest[qos].map { Double(max(now.milliseconds - $0.milliseconds, 0)) / 1000 } ?? 0
            family.add(age, [MetricLabel("qos", qos.name)])
        }
        return family
    }

    private var workersByState: MetricFamily {
        var family = MetricFamily("sluice_workers", .gauge)
        for state in [WorkerReading.State.ready, .draining, .frozen, .lost, .stalled] {
            let count = workers.count { $0.state == state }
            family.add(Double(count), [MetricLabel("state", state.rawValue)])
        }
        return family
    }

    private var inFlight: MetricFamily {
        var family = MetricFamily("sluice_worker_in_flight", .gauge)
        for worker in workers where worker.state != .lost {
            family.add(Double(worker.inFlight), [MetricLabel("seat", "\(worker.seat)")])
        }
        return family
    }
}

/// The figures of a store on a server.
package enum ServerFigures {
    /// Of this process. Without counts, as of a store in files, there are none.
    package static func families(of counts: ServerCounts?) -> [MetricFamily] {
        guard let counts else { return [] }
        let commits = HistogramValue(
            bounds: counts.commitBounds, counts: counts.commitCounts,
            sum: counts.commitTime)
        let complete = counts.relationLoads - counts.relationMisses
        return [
            MetricFamily("sluice_store_commit_seconds", .histogram, [MetricSample(commits)]),
            counter("sluice_store_round_trips_total", counts.roundTrips),
            MetricFamily(
                "sluice_store_relation_loads_total", .counter,
                [
                    MetricSample(Double(complete), [MetricLabel("result", "complete")]),
                    MetricSample(Double(counts.relationMisses), [MetricLabel("result", "missed")]),
                ]),
            counter("sluice_store_repeats_total", counts.repeats),
            counter("sluice_store_connections_lost_total", counts.lostConnections),
        ]
    }

    /// - Parameter seconds: for which the oldest transaction has been open.
    static func families(ofTransactionOpenFor seconds: Double) -> [MetricFamily] {
        [MetricFamily("sluice_store_oldest_transaction_age_seconds", .gauge, value: seconds)]
    }

    private static func counter(_ name: String, _ value: Int) -> MetricFamily {
        MetricFamily(name, .counter, value: Double(value))
    }
}
