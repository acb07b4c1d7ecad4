internal import Commands
internal import Console
internal import Telemetry

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
