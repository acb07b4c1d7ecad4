internal import ArgumentParser
internal import BuiltIn
internal import CLinux
internal import Commands
internal import Coordination
internal import Dispatch
internal import Glibc
internal import Host
internal import Logging
internal import Membership
internal import Operations
internal import Sluice
internal import Store
internal import Synchronization

/// The helper processes of a bench.
struct BenchChildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-child", abstract: "A process of “sluice bench”.", shouldDisplay: false)

    enum Role: String, ExpressibleByArgument, CaseIterable {
        /// Subscribes to every event and prints their number at SIGTERM.
        case subscriber
        /// Submits commands one after the other with the library and prints their number a second.
        case single
        /// A worker whose operation returns its start time.
        case stamper
        /// Accepts connections and reads slowly.
        case sink
    }

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Argument var role: Role

    @Option(name: .long) var seconds = 5.0
    @Option(name: .long) var port: UInt16 = 0

    func run() async throws {
        switch role {
        case .subscriber: try await subscribe()
        case .single: try await submitOneByOne()
        case .stamper:
            try await SluiceWorker(
                data: data.path, store: data.location().url, operations: [StampOperation()],
                logger: log.logger("stamper")
            )
            .runUntilSignal()
        case .sink: try BenchSink(port: port).run()
        }
    }

    private final class Counter: Sendable {
        let events = Atomic<Int64>(0)
    }

    private func subscribe() async throws {
        let counter = Counter()
        let feed = try EventFeed(data.directory().endpoints, prefixes: [""]) { frame in
            // The figure counts status events; the other events are received too.
            if frame.first == UInt8(ascii: "s") { counter.events.add(1, ordering: .relaxed) }
        }
        SignalHandling.handle(SIGTERM) {
            Output.line("\(counter.events.load(ordering: .relaxed))")
            Output.finish(code: .done)
        }
        while true {
            try await Task.sleep(for: .seconds(3600))
            withExtendedLifetime(feed) {}
        }
    }

    private func submitOneByOne() async throws {
        let client = try SluiceClient(data.location(), registry: BuiltInOperations.registry(), create: false)
        let draft = try client.draft(CommandType.noop, payload: ["milliseconds": 0])
        let begin = clinux_monotonic()
        let end = begin + Int64(seconds * 1e9)
        var count = 0
        var now = begin
        while now < end {
            try await client.submit(draft)
            count += 1
            now = clinux_monotonic()
        }
        Output.line("\(Int(Double(count) / (Double(now - begin) / 1e9)))")
        await client.close()
    }
}

/// Accepts every connection on a loopback port and reads each slowly, so that uploads keep running.
struct BenchSink {
    let port: UInt16
    /// Bytes a second of each connection.
    var rate = 1 << 20

    func run() throws -> Never {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var one: CInt = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(listener, 1024) == 0 else {
            throw ExitError(.internalError, "cannot listen on port \(port): \(SystemError().reason)")
        }
        var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        var buffer = [UInt8](repeating: 0, count: rate / 20)
        while true {
            usleep(50_000)
            _ = poll(&descriptors, nfds_t(descriptors.count), 1000)
            for index in descriptors.indices.dropFirst().reversed() where descriptors[index].revents != 0 {
                if recv(descriptors[index].fd, &buffer, buffer.count, CInt(MSG_DONTWAIT)) == 0 {
                    close(descriptors[index].fd)
                    descriptors.remove(at: index)
                }
            }
            if descriptors[0].revents != 0 {
                let connection = accept(listener, nil, nil)
                if connection >= 0 { descriptors.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0)) }
            }
        }
    }
}

/// Returns the monotonic time of its start as the result.
struct StampOperation: CommandOperation {
    let type = "bench.stamp"

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        PayloadAttributes(destination: .none, idempotent: true)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        JSONValue.object([.init("at", .integer(clinux_monotonic()))]).bytes
    }
}
