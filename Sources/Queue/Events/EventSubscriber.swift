internal import Commands
internal import Host
internal import Membership
internal import Store
internal import Synchronization
internal import ZeroMQ

/// Passes events to listeners and the ends of commands to waiters, on a thread of its own.
///
/// An event is a hint: the store is also read once a second for each command that a waiter waits for.
actor EventSubscriber {
    private struct Listener {
        let prefix: [UInt8]
        let continuation: AsyncStream<SluiceEvent>.Continuation
    }

    private let loop: PollLoop
    private let store: any CommandStore
    /// Nil: events come by ``deliver(_:)`` only.
    private let endpoints: (any OpenEndpoints)?
    private var socket: EventSocket?
    private var listeners: [Int: Listener] = [:]
    private var waiters: [CommandID: [Int: CheckedContinuation<CommandOutcome, any Error>]] = [:]
    /// Commands whose own topic is subscribed.
    private var watched: Set<CommandID> = []
    private var lastNumber = 0
    private var isClosed = false

    private static let pollInterval: Duration = .seconds(1)
    /// Events that wait for a listener; the oldest are dropped first.
    private static let buffered = 65_536
    private static let maxFramesEachRound = 1000
    private static let statusPrefix = Array("status/".utf8)
    /// Commands that are subscribed one by one. With more waiters the statuses of all commands are.
    private static let maxWatched = 256

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(store: any CommandStore, endpoints: (any OpenEndpoints)?) throws(ZeroMQError) {
        loop = try PollLoop(name: "sluice-events")
        self.store = store
        self.endpoints = endpoints
    }

    deinit {
        loop.stop()
    }

    // MARK: Listeners

    nonisolated func events(prefix: String) -> AsyncStream<SluiceEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SluiceEvent.self, bufferingPolicy: .bufferingNewest(Self.buffered))
        loop.perform { self.assumeIsolated { $0.listen(Array(prefix.utf8), continuation) } }
        return stream
    }

    private func listen(_ prefix: [UInt8], _ continuation: AsyncStream<SluiceEvent>.Continuation) {
        guard !isClosed, subscribe(prefix) else { return continuation.finish() }
        lastNumber += 1
        let number = lastNumber
        listeners[number] = Listener(prefix: prefix, continuation: continuation)
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            loop.perform { self.assumeIsolated { $0.leave(number) } }
        }
    }

    private func leave(_ number: Int) {
        guard let listener = listeners.removeValue(forKey: number) else { return }
        socket?.unsubscribe(listener.prefix)
    }

    // MARK: Waiters

    /// Returns when the command has ended.
    nonisolated func wait(for id: CommandID) async throws -> CommandOutcome {
        let number = await newNumber()
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loop.perform { self.assumeIsolated { $0.wait(id, number, continuation, flag) } }
            }
        } onCancel: {
            flag.isRequested.store(true, ordering: .sequentiallyConsistent)
            loop.perform { self.assumeIsolated { $0.abandon(id, number) } }
        }
    }

    /// A task may be cancelled before its waiter is registered.
    private final class CancellationFlag: Sendable {
        let isRequested = Atomic<Bool>(false)
    }

    private func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    private func wait(
        _ id: CommandID, _ number: Int, _ continuation: CheckedContinuation<CommandOutcome, any Error>,
        _ flag: CancellationFlag
    ) {
        guard !isClosed, !flag.isRequested.load(ordering: .sequentiallyConsistent) else {
            return continuation.resume(throwing: CancellationError())
        }
        if waiters.isEmpty {
            loop.tick = { [weak self] now in self?.assumeIsolated { $0.poll(now) } }
            nextPoll = nil
        }
        if waiters[id] == nil { watch(id) }
        waiters[id, default: [:]][number] = continuation
        settleIfEnded(id)
    }

    /// Subscribes to the topic of a command: the coordinator answers at once with its status, so that an end is not
    /// missed that came before the subscription stood.
    private func watch(_ id: CommandID) {
        if watched.count < Self.maxWatched, subscribe(Self.topic(id)) {
            watched.insert(id)
        } else if !watchesAll {
            watchesAll = subscribe(Self.statusPrefix)
        }
    }

    /// Whether the statuses of all commands are subscribed.
    private var watchesAll = false

    private static func topic(_ id: CommandID) -> [UInt8] { statusPrefix + Array("\(id)".utf8) }

    private func abandon(_ id: CommandID, _ number: Int) {
        guard let continuation = waiters[id]?.removeValue(forKey: number) else { return }
        if waiters[id]?.isEmpty == true { forget(id) }
        continuation.resume(throwing: CancellationError())
    }

    private func settleIfEnded(_ id: CommandID) {
        let found: Result<CommandOutcome?, SluiceError>
        do throws(StoreError) {
            guard let command = try store.command(id) else {
                if try store.isInInbox(id) { return }
                return settle(id, .failure(SluiceError.unknown(id)))
            }
            guard command.status.isFinal else { return }
            let result = try store.result(id)
            found = .success(CommandOutcome(id: id, status: command.status, reason: command.reason, result: result))
        } catch {
            // A store that is busy or away is read again at the next poll.
            if [.busy, .unreachable, .exhausted].contains(error.code) { return }
            found = .failure(SluiceError(error))
        }
        settle(id, found)
    }

    private func settle(_ id: CommandID, _ result: Result<CommandOutcome?, SluiceError>) {
        guard let continuations = waiters[id] else { return }
        forget(id)
        for continuation in continuations.values {
            switch result {
            case .success(let outcome?): continuation.resume(returning: outcome)
            case .success(nil): continuation.resume(throwing: CancellationError())
            case .failure(let error): continuation.resume(throwing: error)
            }
        }
    }

    private func forget(_ id: CommandID) {
        waiters[id] = nil
        if watched.remove(id) != nil { socket?.unsubscribe(Self.topic(id)) }
        guard waiters.isEmpty else { return }
        loop.tick = nil
        if watchesAll {
            watchesAll = false
            socket?.unsubscribe(Self.statusPrefix)
        }
    }

    private var nextPoll: MonotonicTime?

    /// - Returns: the time of the next poll; nil without waiters.
    private func poll(_ now: MonotonicTime) -> MonotonicTime? {
        let due = nextPoll ?? now + Self.pollInterval
        nextPoll = due
        guard now >= due else { return due }
        for id in Array(waiters.keys) { settleIfEnded(id) }
        nextPoll = now + Self.pollInterval
        return waiters.isEmpty ? nil : nextPoll
    }

    // MARK: The socket

    private func subscribe(_ prefix: [UInt8]) -> Bool {
        guard let endpoints else { return true }
        do throws(ZeroMQError) {
            if socket == nil {
                socket = try EventSocket(endpoints, loop: loop) { [weak self] in
                    self?.assumeIsolated { $0.receive() }
                }
            }
            try socket?.subscribe(prefix)
            return true
        } catch {
            return false
        }
    }

    private func receive() {
        for _ in 0..<Self.maxFramesEachRound {
            guard let frame = socket?.next() else { return }
            dispatch(frame)
        }
    }

    /// Takes an event that did not come by the socket.
    nonisolated func deliver(_ frame: [UInt8]) {
        loop.perform { self.assumeIsolated { $0.dispatch(frame) } }
    }

    private func dispatch(_ frame: [UInt8]) {
        if !waiters.isEmpty, let id = Self.statusID(frame), waiters[id] != nil, let event = SluiceEvent(frame: frame),
            event.status?.isFinal == true
        {
            settleIfEnded(id)
        }
        guard listeners.values.contains(where: { frame.starts(with: $0.prefix) }),
            let event = SluiceEvent(frame: frame)
        else { return }
        for listener in listeners.values where frame.starts(with: listener.prefix) {
            listener.continuation.yield(event)
        }
    }

    private static func statusID(_ frame: [UInt8]) -> CommandID? {
        guard frame.count > statusPrefix.count + 36, frame.starts(with: statusPrefix) else { return nil }
        let text = frame[statusPrefix.count..<statusPrefix.count + 36]
        return CommandID(String(decoding: text, as: UTF8.self))
    }

    // MARK: The end

    nonisolated func close() async {
        loop.perform { self.assumeIsolated { $0.end() } }
        loop.stop()
        await loop.stopped()
    }

    private func end() {
        isClosed = true
        for listener in listeners.values { listener.continuation.finish() }
        listeners = [:]
        for continuation in waiters.values.flatMap(\.values) { continuation.resume(throwing: CancellationError()) }
        waiters = [:]
        loop.tick = nil
        socket = nil
    }
}

/// The end of a command, as ``SluiceClient/wait(for:)`` returns it.
public struct CommandOutcome: Sendable, Equatable {
    /// The command that has ended.
    public var id: CommandID
    /// `success`, `cancelled`, `tooManyTimes` or `inDoubt`.
    public var status: CommandStatus
    /// The reason of an end other than success, in a sentence; nil after a success.
    public var reason: String?
    /// The result of the operation, as JSON; nil where it returned none, and after an end other than success.
    public var result: [UInt8]?

    /// - Parameter status: a final one.
    package init(id: CommandID, status: CommandStatus, reason: String?, result: [UInt8]?) {
        self.id = id
        self.status = status
        self.reason = reason
        self.result = result
    }

    /// Whether the status is `success`.
    public var isSuccess: Bool { status == .success }
}
