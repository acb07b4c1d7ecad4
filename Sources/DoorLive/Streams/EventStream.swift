internal import Door
internal import HTTPTypes
internal import Host
internal import NIOCore
internal import Synchronization

/// A stream of one client: writes what its source has, until the client, its token or the door ends it.
final class EventStream: Sendable {
    enum Ending: Sendable {
        /// The client has closed its connection.
        case gone
        case dropped(LiveStatistics.Drop)
        case shutdown
    }

    let kind: StreamKind
    let principal: Principal
    /// Of its request.
    let fields: HTTPFields
    private let connection: RequestConnection
    private let statistics: LiveStatistics
    private let signal = StreamSignal()
    private let ending = Mutex<Ending?>(nil)
    /// In nanoseconds of ``MonotonicTime``; 0: no write is under way.
    private let writeBegan = Atomic<Int64>(0)
    private let writeEnded = Atomic<Int64>(MonotonicTime.now.nanoseconds)

    static let keepAliveInterval: Duration = .seconds(15)

    init(_ kind: StreamKind, _ request: DoorRequest, _ principal: Principal, _ statistics: LiveStatistics) {
        self.kind = kind
        self.principal = principal
        self.statistics = statistics
        fields = request.fields
        connection = request.connection
    }

    /// There may be more for the stream.
    func wake() { signal.set() }

    /// Ends the stream; the first reason counts. A dropped stream loses its connection where a write waits for the
    /// client.
    func end(_ reason: Ending) {
        let isFirst = ending.withLock { ending in
            defer { ending = ending ?? reason }
            return ending == nil
        }
        guard isFirst else { return }
        signal.set()
        guard case .dropped(let drop) = reason else { return }
        statistics.change(kind) { $0.dropped[drop, default: 0] += 1 }
        if writeBegan.load(ordering: .relaxed) > 0 { connection.close() }
    }

    /// Drops a client that takes nothing, and wakes a stream that was quiet.
    func check(at now: MonotonicTime, maxWrite: Duration) {
        let began = writeBegan.load(ordering: .relaxed)
        if began > 0 {
            guard now - MonotonicTime(nanoseconds: began) > maxWrite else { return }
            end(.dropped(.slow))
            connection.close()
        } else if now - MonotonicTime(nanoseconds: writeEnded.load(ordering: .relaxed)) > Self.keepAliveInterval {
            wake()
        }
    }

    /// - Parameter retry: the time that the client waits before it connects again, in milliseconds.
    func run(_ source: some StreamSource, _ writer: inout any ResponseBodyWriter, retry: Int) async throws {
        connection.whenGone { [weak self] in self?.end(.gone) }
        let retry = ByteBuffer(string: "retry: \(retry)\n\n")
        var source = source
        try await write(retry, &writer)
        while ending.withLock({ $0 }) == nil {
            try Task.checkCancellation()
            let frames: [ByteBuffer]?
            do { frames = try await source.next() } catch is CancellationError { throw CancellationError() } catch {
                end(.dropped(.failed))
                throw error
            }
            if let frames {
                for frame in frames {
                    try await write(frame, &writer)
                    statistics.change(kind) { $0.frames += 1 }
                }
            } else if isQuiet {
                try await write(source.keepAlive, &writer)
            } else {
                await signal.wait()
            }
        }
        if case .gone = ending.withLock({ $0 }) { return connection.close() }
        try await write(retry, &writer)
    }

    private var isQuiet: Bool {
        .now - MonotonicTime(nanoseconds: writeEnded.load(ordering: .relaxed)) > Self.keepAliveInterval
    }

    private func write(_ buffer: ByteBuffer, _ writer: inout any ResponseBodyWriter) async throws {
        writeBegan.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
        defer {
            writeEnded.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
            writeBegan.store(0, ordering: .relaxed)
        }
        try await writer.write(buffer)
        statistics.change(kind) { $0.bytes += buffer.readableBytes }
    }
}

/// The contents of a stream.
protocol StreamSource: Sendable {
    /// The frames that are ready; nil: none until the stream is woken.
    mutating func next() async throws -> [ByteBuffer]?
    /// A frame without data for a stream that was quiet.
    var keepAlive: ByteBuffer { get }
}

/// Wakes the one task of a stream.
final class StreamSignal: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the wait of the task, or its next one.
    func set() {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.isSet = true }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns after ``set()``, and when the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state in
                    if !state.isSet { state.waiter = continuation }
                    defer { state.isSet = false }
                    return state.isSet
                }
                if isSet { continuation.resume() }
            }
        } onCancel: {
            set()
        }
    }
}
