package import Queue
package import Telemetry

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
