import Dispatch
import Glibc
import Logging
import Synchronization

@testable import Supervision

/// What children say on standard error, line by line, as the supervisor passes it on.
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

/// The ends of children, in order.
final class Ends: Sendable {
    let stream: AsyncStream<ChildExit>
    private let continuation: AsyncStream<ChildExit>.Continuation
    private let all = Mutex([ChildExit]())

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    var seen: [ChildExit] { all.withLock { $0 } }

    @Sendable func record(_ exit: ChildExit) {
        all.withLock { $0.append(exit) }
        continuation.yield(exit)
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
    listener: Listener, ends: Ends, executable: String = "/bin/sh"
) -> Supervisor {
    Supervisor(
        executable: executable, children: children, policy: policy, gracePeriod: grace, logger: silent,
        errorDestination: listener.destination, onExit: ends.record)
}
