import Commands
import Sluice
import TestSupport

/// A stream of uploads that a stage kept up for some time.
struct Supply: Sendable {
    var submitted: Int
    /// Answered with 2xx meanwhile.
    var succeeded: Int
    var begin: MonotonicMoment
    var end: MonotonicMoment

    var perSecond: Double { Double(succeeded) / (end - begin) }
}

extension Stage {
    /// ``supply(_:of:_:kind:to:)`` keeps this number of uploads submitted and not answered: more than all slots and the
    /// windows of the workers.
    private static let supplyLevel = 160

    /// Keeps uploads to a destination waiting for some seconds.
    /// - Parameter kind: the part of their paths, used by this call only.
    func supply(
        _ seconds: Double, of bytes: Int, _ qos: Commands.QualityOfService = .default, kind: String,
        to destination: Int
    ) async throws -> Supply {
        let server = destinations[destination - 1]
        var supply = Supply(submitted: 0, succeeded: 0, begin: .now, end: .now)
        repeat {
            if supply.submitted - supply.succeeded < Self.supplyLevel {
                try await submit(Self.supplyLevel / 2, of: bytes, qos, kind: kind, to: destination)
                supply.submitted += Self.supplyLevel / 2
            } else {
                try await pause(0.1)
            }
            supply.succeeded = try await server.count(below: "/put/\(kind)/").succeeded
            supply.end = .now
        } while supply.end - supply.begin < seconds
        return supply
    }

    /// Waits until a destination has answered everything that was supplied, at most 20 s.
    func drain(_ supply: Supply, kind: String, from destination: Int) async throws {
        _ = try await holds(within: 20) {
            try await self.destinations[destination - 1].count(below: "/put/\(kind)/").succeeded >= supply.submitted
        }
    }

    /// Waits until a condition holds.
    /// - Parameter seconds: after which the wait ends; that the condition does not hold is a result and not a failure.
    /// - Returns: whether it holds.
    func holds(within seconds: Double, _ condition: () async throws -> Bool) async throws -> Bool {
        let end = MonotonicMoment.now + seconds
        while true {
            if try await condition() { return true }
            guard .now < end else { return false }
            try await pause(0.02)
        }
    }

    /// Cancels those of the commands that have not ended, several at a time.
    func cancel(_ ids: [CommandID]) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, id) in ids.enumerated() {
                if index >= 32 { await group.next() }
                group.addTask { [client] in _ = try? await client.cancel(id) }
            }
        }
    }
}

extension Traffic {
    /// The most requests at one moment between two moments.
    func maxAtOnce(from start: MonotonicMoment, to end: MonotonicMoment) -> Int {
        let overlapping = requests.filter { $0.begin <= end && ($0.end ?? end) >= start }
        return overlapping.map { one in
            let at = max(one.begin, start)
            return overlapping.count { $0.begin <= at && ($0.end ?? end) > at }
        }.max() ?? 0
    }
}
