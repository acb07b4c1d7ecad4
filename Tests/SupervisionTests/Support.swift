import Dispatch
import Glibc
import Logging
import Synchronization

@testable import Supervision

/// The children's standard error, line by line, as the supervisor passes it on.
final class Listener: Sendable {
    let destination: CInt
    private let reading: CInt
    private let lines: Mutex<AsyncStream<String>.Iterator>

    init() throws {
        let ends = try Pipe.make()
        (reading, destination) = (ends.read, ends.write)
        let (stream, continuation) = AsyncStream<String>.makeStream()
        lines = Mutex(stream.makeAsyncIterator())
        let reading = reading
        DispatchQueue(label: "listener").async {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while read(reading, &byte, 1) == 1 {
                if byte == UInt8(ascii: "\n") {
                    continuation.yield(String(decoding: line, as: UTF8.self))
                    line = []
                } else {
                    line.append(byte)
                }
            }
            close(reading)
        }
    }

    /// One caller at a time.
    func next() async -> String? {
        var iterator = lines.withLock { $0 }
        return await iterator.next()
    }

    deinit {
        close(destination)
    }
}

/// The starts and ends of children, in order.
final class Events: Sendable {
    let ends: AsyncStream<ChildExit>
    private let end: AsyncStream<ChildExit>.Continuation
    private let starts: AsyncStream<String>
    private let start: AsyncStream<String>.Continuation
    private let all = Mutex([ChildExit]())

    init() {
        (ends, end) = AsyncStream.makeStream()
        (starts, start) = AsyncStream.makeStream()
    }

    /// The ends so far.
    var seen: [ChildExit] { all.withLock { $0 } }

    /// Until `count` children more have been started and each has said a line; returns the lines.
    func ready(_ count: Int, _ listener: Listener) async -> Set<String> {
        var iterator = starts.makeAsyncIterator()
        for _ in 0..<count { _ = await iterator.next() }
        var lines: Set<String> = []
        for _ in 0..<count { lines.insert(await listener.next() ?? "nothing") }
        return lines
    }

    @Sendable func record(_ exit: ChildExit) {
        all.withLock { $0.append(exit) }
        end.yield(exit)
    }

    @Sendable func recordStart(_ name: String, _: Int32) {
        start.yield(name)
    }
}

func shell(
    _ name: String, _ script: String, environment: [String: String] = [:], stage: ChildSpecification.Stage = .first
) -> ChildSpecification {
    ChildSpecification(name: name, arguments: ["-c", script], environment: environment, stage: stage)
}

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

func supervisor(
    _ children: [ChildSpecification], policy: RestartPolicy = .init(), grace: Duration = .seconds(60),
    listener: Listener, events: Events, executable: String = "/bin/sh"
) -> Supervisor {
    var options = Supervisor.Options()
    options.policy = policy
    options.gracePeriod = grace
    options.errorDestination = listener.destination
    var callbacks = Supervisor.Callbacks()
    callbacks.onStart = events.recordStart
    callbacks.onExit = events.record
    return Supervisor(
        executable: executable, children: children, options: options, callbacks: callbacks, logger: silent)
}
