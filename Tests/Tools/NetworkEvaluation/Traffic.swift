import TestSupport

/// What all destinations of a bed received, looked at by kind of transfer: the kind is a part of the path.
struct Traffic {
    var requests: [Received.Request]

    func of(_ kind: String) -> Traffic { Traffic(requests: requests.filter { $0.path.contains("/\(kind)/") }) }

    var bytes: Int64 { requests.reduce(0) { $0 + $1.received } }

    /// Bytes that arrived, by steps of 50 ms.
    func bytes(from start: MonotonicMoment, to end: MonotonicMoment) -> Int64 {
        requests.reduce(0) { $0 + $1.steps.bytes(from: start, to: end) }
    }

    /// Bytes per second that arrived and did not have to come again: of requests that succeeded, still run, or can go on.
    func useful(from start: MonotonicMoment, to end: MonotonicMoment) -> Double {
        let useful = requests.filter { request in
            request.end == nil || request.status.map { (200..<300).contains($0) } ?? request.path.hasPrefix("/tus/")
        }
        return Double(Traffic(requests: useful).bytes(from: start, to: end)) / (end - start)
    }

    /// Mbit/s in steps of ``RunRecord/step`` from `start` on.
    func megabits(from start: MonotonicMoment, to end: MonotonicMoment) -> [Double] {
        var bins = [Double](repeating: 0, count: max(1, Int(((end - start) / RunRecord.step).rounded(.up))))
        for request in requests {
            for step in request.steps.steps {
                let at = MonotonicMoment(nanoseconds: step.number * request.steps.step) - start
                let bin = Int((at / RunRecord.step).rounded(.down))
                if bins.indices.contains(bin) { bins[bin] += Double(step.bytes) * 8 / 1e6 / RunRecord.step }
            }
        }
        return bins
    }

    /// Seconds from `moment` until a second begins, within `limit`, in which so many bytes arrive; to that second's end.
    func recovery(to bytesPerSecond: Double, after moment: MonotonicMoment, within limit: Double) -> Double? {
        var steps: [Int64: Int64] = [:]
        for request in requests { for step in request.steps.steps { steps[step.number, default: 0] += step.bytes } }
        let step = requests.first?.steps.step ?? 50_000_000
        let perSecond = 1_000_000_000 / step
        let first = moment.nanoseconds / step + 1
        for number in first..<first + max(0, Int64(limit * 1e9) / step) {
            let sum = (number..<number + perSecond).reduce(0) { $0 + (steps[$1] ?? 0) }
            if Double(sum) >= bytesPerSecond {
                return MonotonicMoment(nanoseconds: (number + perSecond) * step) - moment
            }
        }
        return nil
    }

    /// The longest time without a byte, in seconds, within each path's life between two moments.
    func longestStandstill(from start: MonotonicMoment, to end: MonotonicMoment) -> Double? {
        var longest: Double?
        for (_, requests) in Dictionary(grouping: requests, by: \.path) {
            let moments = requests.flatMap { request in
                request.steps.steps.map { MonotonicMoment(nanoseconds: $0.number * request.steps.step) }
            }.filter { $0 >= start && $0 <= end }.sorted()
            let isComplete = requests.contains { $0.status.map { (200..<300).contains($0) } ?? false }
            let all = [start] + moments + (isComplete ? [] : [end])
            for (before, after) in zip(all, all.dropFirst()) { longest = max(longest ?? 0, after - before) }
        }
        return longest
    }

    /// Requests at once, in the mean.
    func concurrency(from start: MonotonicMoment, to end: MonotonicMoment) -> Double {
        requests.reduce(0) { sum, request in
            sum + max(0, min(request.end ?? end, end) - max(request.begin, start))
        } / (end - start)
    }
}
