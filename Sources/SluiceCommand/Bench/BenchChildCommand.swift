internal import ArgumentParser
internal import BuiltIn
internal import CLinux
internal import Commands
internal import Coordination
internal import Dispatch
internal import Glibc
internal import Logging
internal import Membership
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
