internal import DoorLive
internal import Telemetry

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
