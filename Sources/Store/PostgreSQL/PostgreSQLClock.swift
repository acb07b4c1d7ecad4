internal import Commands
internal import Host
internal import Synchronization

/// The clock of a server, kept as its distance from the monotonic clock of this machine.
///
/// A measure asks the server for `clock_timestamp()`, whose answer lies somewhere within the round trip. Of the measures of the
/// last minute the one with the shortest round trip counts.
final class PostgreSQLClock: StoreClock {
    private struct Measure {
        /// Server minus monotonic clock, in nanoseconds.
        var offset: Int64
        var roundTrip: Duration
        var at: MonotonicTime
    }

    private struct State {
        var measures: [Measure] = []
        /// Wall clock minus monotonic clock, in milliseconds, at the last measure.
        var wall: Int64 = 0
    }

    private let state = Mutex(State())

    /// Between two measures.
    static let interval: Duration = .seconds(5)
    /// The monotonic clock stops while the machine is suspended, and the wall clock does not: a new measure is due then.
    private static let maxStep: Int64 = 1000
    private static let memory: Duration = .seconds(60)

    func now() -> Timestamp {
        let now = MonotonicTime.now
        let best = state.withLock { $0.measures.min { $0.roundTrip < $1.roundTrip } }
        guard let best else { return .now }
        return Timestamp(milliseconds: (now.nanoseconds + best.offset) / 1_000_000)
    }

    var followsThisMachine: Bool { false }

    /// Whether the next connection has to measure.
    var isMeasureDue: Bool {
        let (now, wall) = (MonotonicTime.now, Self.wallDistance)
        return state.withLock { state in
            guard let last = state.measures.last else { return true }
            return now - last.at >= Self.interval || abs(wall - state.wall) > Self.maxStep
        }
    }

    private static let statement = PostgreSQLStatement(
        "clock", "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8")

    func measure(_ connection: inout PostgreSQLConnection, deadline: MonotonicTime) throws(PostgreSQLError) {
        let sent = MonotonicTime.now
        let time = try connection.execute(Self.statement, deadline: deadline).first { row in row[0] as Int64 }
        let received = MonotonicTime.now
        guard let time else { return }
        let middle = sent.nanoseconds + (received - sent).nanoseconds / 2
        let measure = Measure(offset: time * 1000 - middle, roundTrip: received - sent, at: received)
        let wall = Self.wallDistance
        state.withLock { state in
            let isStep = !state.measures.isEmpty && abs(wall - state.wall) > Self.maxStep
            // After a suspend the earlier measures are wrong.
            state.measures = isStep ? [] : state.measures.filter { received - $0.at < Self.memory }
            state.measures.append(measure)
            state.wall = wall
        }
    }

    private static var wallDistance: Int64 { Timestamp.now.milliseconds - MonotonicTime.now.nanoseconds / 1_000_000 }
}
