import Commands
import Host
import TestSupport

/// The requests that all destinations of a bed received, by kind of transfer. The kind is a part of the path.
struct Traffic {
    var requests: [Received.Request]

    func of(_ kind: String) -> Traffic { Traffic(requests: requests.filter { $0.path.contains("/\(kind)/") }) }

    var bytes: Int64 { requests.reduce(0) { $0 + $1.received } }

    /// The received bytes between two times, in steps of 50 ms.
    func bytes(from start: MonotonicTime, to end: MonotonicTime) -> Int64 {
        requests.reduce(0) { $0 + $1.steps.bytes(from: start, to: end) }
    }

    /// The useful bytes per second, which need not be sent again: of requests that succeeded, run, or can be
    /// resumed.
    func useful(from start: MonotonicTime, to end: MonotonicTime) -> Double {
        let useful = requests.filter { request in
            request.end == nil || request.status.map { (200..<300).contains($0) } ?? request.path.hasPrefix("/tus/")
        }
        return Double(Traffic(requests: useful).bytes(from: start, to: end)) / (end - start).seconds
    }

    /// The received Mbit/s from `start` on, in steps of ``RunRecord/step``.
    func megabits(from start: MonotonicTime, to end: MonotonicTime) -> [Double] {
        var bins = [Double](repeating: 0, count: max(1, Int(((end - start).seconds / RunRecord.step).rounded(.up))))
        for request in requests {
            for step in request.steps.steps {
                let at = (MonotonicTime(nanoseconds: step.number * request.steps.step) - start).seconds
                let bin = Int((at / RunRecord.step).rounded(.down))
                if bins.indices.contains(bin) { bins[bin] += Double(step.bytes) * 8 / 1e6 / RunRecord.step }
            }
        }
        return bins
    }

    /// The seconds from `moment` to the end of the first second in which this rate is reached.
    /// - Parameter limit: the latest start of that second, in seconds after `moment`.
    func recovery(to bytesPerSecond: Double, after moment: MonotonicTime, within limit: Double) -> Double? {
        var steps: [Int64: Int64] = [:]
        for request in requests { for step in request.steps.steps { steps[step.number, default: 0] += step.bytes } }
        let step = requests.first?.steps.step ?? 50_000_000
        let perSecond = 1_000_000_000 / step
        let first = moment.nanoseconds / step + 1
        for number in first..<first + max(0, Int64(limit * 1e9) / step) {
            let sum = (number..<number + perSecond).reduce(0) { $0 + (steps[$1] ?? 0) }
            if Double(sum) >= bytesPerSecond {
                return (MonotonicTime(nanoseconds: (number + perSecond) * step) - moment).seconds
            }
        }
        return nil
    }

    /// The longest time without a byte of any path between two times, in seconds.
    func longestStandstill(from start: MonotonicTime, to end: MonotonicTime) -> Double? {
        var longest: Double?
        for (_, requests) in Dictionary(grouping: requests, by: \.path) {
            let moments = requests.flatMap { request in
                request.steps.steps.map { MonotonicTime(nanoseconds: $0.number * request.steps.step) }
            }.filter { $0 >= start && $0 <= end }.sorted()
            let isComplete = requests.contains { $0.status.map { (200..<300).contains($0) } ?? false }
            let all = [start] + moments + (isComplete ? [] : [end])
            for (before, after) in zip(all, all.dropFirst()) { longest = max(longest ?? 0, (after - before).seconds) }
        }
        return longest
    }

    /// The mean number of concurrent requests.
    func concurrency(from start: MonotonicTime, to end: MonotonicTime) -> Double {
        requests.reduce(0) { sum, request in
            sum + max(0, (min(request.end ?? end, end) - max(request.begin, start)).seconds)
        } / (end - start).seconds
    }
}
