import Commands
import Host
import NetworkControl
import Store
import Wire

@testable import Coordination

/// A dispatcher with rate limits, and workers that claim and end what they are offered, on a virtual clock.
struct RateLimitRig: DispatcherFixtures {
    struct Start {
        var at: MonotonicTime
        var command: ReadyCommand
    }

    private struct Running {
        var command: ReadyCommand
        var seat: Int
        var ends: MonotonicTime
    }

    static let step: Duration = .milliseconds(5)

    var dispatcher: Dispatcher
    var now = after(1)
    /// How long each command runs.
    var duration: Duration = .milliseconds(2)
    private(set) var starts: [Start] = []
    /// The greatest number that ran at once, of each limit.
    private(set) var mostAtOnce: [String: Int] = [:]
    private var definitions: [RateLimits.Name: RateLimit]
    private var saved: [RateLimits.Name: TokenBucketState] = [:]
    private var waiting: [CommandID: ReadyCommand] = [:]
    private var running: [CommandID: Running] = [:]
    private var seen: [Int64]
    private var resolved: [Int64]
    private var completed: [Int64]
    private let seats: Int
    private let concurrency: Int
    private var number: Int64 = 0

    init(_ definitions: [RateLimits.Name: RateLimit], seats: Int = 2, concurrency: Int = 8) {
        self.definitions = definitions
        self.seats = seats
        self.concurrency = concurrency
        seen = Array(repeating: 0, count: seats)
        resolved = seen
        completed = seen
        dispatcher = Dispatcher(shardCount: 8)
        start()
    }

    init(_ limit: String, _ starts: String, burst: Int? = nil, atOnce: Int? = nil, seats: Int = 2, concurrency: Int = 8)
    {
        // The texts are those of tests.
        let limits = StartRate(text: starts).map { RateLimit(starts: $0, burst: burst, atOnce: atOnce) }
        self.init(limits.map { [.limit(limit): $0] } ?? [:], seats: seats, concurrency: concurrency)
    }

    private mutating func start() {
        dispatcher = dispatcher(seats: seats, concurrency: concurrency)
        dispatcher.setRateLimits(definitions, saved: saved, wallTime: wallTime, now: now)
    }

    private var wallTime: Timestamp { at + (now - .zero) }

    // MARK: Commands

    @discardableResult
    mutating func submit(
        _ count: Int = 1, _ limit: String?, _ qos: QualityOfService = .default, to destination: Destination = .none
    ) -> [ReadyCommand] {
        let commands = (0..<count).map { _ in
            number += 1
            var command = ready(number, qos, to: destination, shard: UInt8(number % 8))
            command.createdAt = wallTime
            command.limit = limit
            return command
        }
        for command in commands { waiting[command.id] = command }
        // As many as a sweep would read.
        for command in commands { dispatcher.insert([command], now: now) }
        return commands
    }

    mutating func set(_ definitions: [RateLimits.Name: RateLimit]) {
        self.definitions = definitions
        dispatcher.setRateLimits(definitions, wallTime: wallTime, now: now)
    }

    // MARK: Time

    mutating func run(for time: Duration) {
        let end = now + time
        while now < end {
            now += Self.step
            endCommands()
            save()
            reportStates()
            // The others of a destination and quality are in the store.
            if dispatcher.queue.count < min(waiting.count, 200) {
                dispatcher.insert(waiting.values.sorted { $0.turn < $1.turn }, now: now)
            }
            take(dispatcher.dispatch(at: wallTime, now: now))
        }
    }

    /// The coordinator ends in order.
    mutating func stop() {
        for save in dispatcher.rates.lastStates(wallTime: wallTime, now: now) { saved[save.name] = save.state }
    }

    /// The coordinator is killed and another starts. Commands run on.
    mutating func restart() {
        start()
        for (id, one) in running {
            var row = claimed(one.command)
            row.seat = one.seat
            row.epoch = Int64(one.seat) + 1
            row.limit = one.command.limit
            _ = dispatcher.willReconcile(shard: id.shard(of: 8))
            _ = dispatcher.reconcile([row], shard: id.shard(of: 8), now: now)
        }
        // Offers of the new coordinator are counted from 1.
        seen = Array(repeating: 0, count: seats)
        resolved = seen
    }

    private mutating func endCommands() {
        for (id, one) in running.sorted(by: { $0.key < $1.key }) where one.ends <= now {
            running[id] = nil
            resolved[one.seat] = min(resolved[one.seat] + 1, seen[one.seat])
            completed[one.seat] += 1
            dispatcher.transition(report(one.command, .success), now: now)
        }
    }

    private mutating func save() {
        let saves = dispatcher.rateLimitsToSave(wallTime: wallTime, now: now)
        for save in saves { saved[save.name] = save.state }
        dispatcher.rates.wereSaved(saves.map(\.name))
    }

    private mutating func reportStates() {
        for seat in 0..<seats {
            var state = WorkerState()
            state.coordinator = 1
            state.seen = seen[seat]
            state.resolved = resolved[seat]
            state.completed = completed[seat]
            dispatcher.report(seat: seat, state: state, coordinator: 1, now: now)
        }
    }

    private mutating func take(_ dispatches: [Dispatcher.Dispatch]) {
        for dispatch in dispatches {
            for offer in dispatch.offers.offers {
                seen[dispatch.seat] += 1
                guard let command = waiting.removeValue(forKey: offer.id) else { continue }
                starts.append(Start(at: now, command: command))
                running[command.id] = Running(command: command, seat: dispatch.seat, ends: now + duration)
                dispatcher.transition(report(command, .queued), now: now)
                dispatcher.transition(report(command, .sent), now: now)
                if let limit = command.limit {
                    let count = running.values.count { $0.command.limit == limit }
                    mostAtOnce[limit] = max(mostAtOnce[limit] ?? 0, count)
                }
            }
        }
    }

    // MARK: Results

    func starts(of limit: String?) -> [MonotonicTime] { starts.filter { $0.command.limit == limit }.map(\.at) }

    /// The most by which the starts of a window exceed the rate; at most the burst where the limit holds.
    static func excess(_ starts: [MonotonicTime], perSecond rate: Double) -> Double {
        var smallest = Double.infinity
        var greatest = 0.0
        for (index, time) in starts.enumerated() {
            let level = Double(index) - (time - .zero).seconds * rate
            smallest = min(smallest, level)
            greatest = max(greatest, level - smallest + 1)
        }
        return greatest
    }
}
