internal import HTTPTypes
internal import Synchronization

/// The memory that bodies of requests take together while they are held as a whole: JSON, bulks, and fields of forms.
///
/// A body takes its share as its bytes arrive, not when its length is announced: a slow client holds only the bytes that
/// it has sent. A request whose bytes find no share is refused, and gives back what it has, so that the others go on.
package final class BodyMemory: Sendable {
    /// Bytes in addition that only small bodies take, so that a control or a login is answered while bulks take the rest.
    static let reserve = 8 << 20
    /// Bytes of a small body.
    static let maxSmall = 64 << 10

    private let capacity: Int
    private let reserve: Int
    private let statistics: DoorStatistics
    private let used = Mutex(0)

    /// - Parameters:
    ///   - capacity: bytes for bodies of any size.
    ///   - reserve: bytes in addition for small bodies.
    init(capacity: Int, reserve: Int = BodyMemory.reserve, statistics: DoorStatistics = DoorStatistics()) {
        self.capacity = capacity
        self.reserve = reserve
        self.statistics = statistics
    }

    /// The share of one request, which ends with the request.
    package final class Share: Sendable {
        private let memory: BodyMemory
        private let held = Mutex(0)

        init(of memory: BodyMemory) { self.memory = memory }

        deinit { end() }

        /// Whether a body fits now. It takes nothing.
        /// - Parameter bytes: of the whole body.
        /// - Throws: ``Problem`` 503 where it does not.
        func check(_ bytes: Int) throws(Problem) {
            guard memory.fits(bytes, of: bytes) else { throw memory.refusal() }
        }

        /// Takes more.
        /// - Throws: ``Problem`` 503 where the memory is used up.
        func take(_ bytes: Int) throws(Problem) {
            let isTaken = held.withLock { held in
                guard memory.take(bytes, of: held + bytes) else { return false }
                held += bytes
                return true
            }
            guard isTaken else { throw memory.refusal() }
        }

        /// Gives some of it back.
        func give(_ bytes: Int) {
            held.withLock { held in
                held -= bytes
                memory.give(bytes)
            }
        }

        /// Gives all of it back.
        func end() {
            held.withLock { held in
                memory.give(held)
                held = 0
            }
        }
    }

    // MARK: Of all requests

    private func limit(_ total: Int) -> Int { total <= Self.maxSmall ? capacity + reserve : capacity }

    private func fits(_ bytes: Int, of total: Int) -> Bool { used.withLock { $0 + bytes <= limit(total) } }

    /// - Parameter total: bytes that the request would hold then.
    private func take(_ bytes: Int, of total: Int) -> Bool {
        used.withLock { used in
            guard used + bytes <= limit(total) else { return false }
            used += bytes
            statistics.bodyBytes.store(used, ordering: .relaxed)
            return true
        }
    }

    private func give(_ bytes: Int) {
        used.withLock { used in
            used -= bytes
            statistics.bodyBytes.store(used, ordering: .relaxed)
        }
    }

    private func refusal() -> Problem {
        statistics.refusedBodies.wrappingAdd(1, ordering: .relaxed)
        return Problem(
            .serviceUnavailable, "too-many-bodies",
            "The bodies of other requests take the memory that the server has for them; send the request again in a "
                + "second, or in smaller parts.",
            fields: [.retryAfter: "1"])
    }
}
