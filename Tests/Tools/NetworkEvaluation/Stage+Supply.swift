import Commands
import Host
import Sluice
import TestSupport

extension Stage {
    /// The number of unanswered uploads that ``supply(_:of:_:kind:to:)`` keeps: more than all slots and the
    /// windows of the workers.
    private static let supplyLevel = 160

    /// Keeps uploads to a destination waiting for some seconds.
    /// - Parameter kind: the part of their paths; no other call may use it.
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
        } while (supply.end - supply.begin).seconds < seconds
        return supply
    }

    /// Waits until a destination has answered every upload of a supply, for at most 20 s.
    func drain(_ supply: Supply, kind: String, from destination: Int) async throws {
        _ = try await holds(within: 20) {
            try await self.destinations[destination - 1].count(below: "/put/\(kind)/").succeeded >= supply.submitted
        }
    }

    /// Waits until a condition holds.
    /// - Parameter seconds: the timeout. A condition that does not hold is a result, not a failure.
    /// - Returns: whether the condition holds.
    func holds(within seconds: Double, _ condition: () async throws -> Bool) async throws -> Bool {
        let end = MonotonicTime.now + .seconds(seconds)
        while true {
            if try await condition() { return true }
            guard .now < end else { return false }
            try await pause(0.02)
        }
    }

    /// Cancels the commands that have not ended, several concurrently.
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
    /// The maximum number of concurrent requests between two times.
    func maxAtOnce(from start: MonotonicTime, to end: MonotonicTime) -> Int {
        let overlapping = requests.filter { $0.begin <= end && ($0.end ?? end) >= start }
        return overlapping.map { one in
            let at = max(one.begin, start)
            return overlapping.count { $0.begin <= at && ($0.end ?? end) > at }
        }.max() ?? 0
    }
}
