import Dispatch
import Host
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite struct NameResolverTests {
    /// A resolver that answers `good` at once, and other names when it is opened.
    private final class Source: Sendable {
        private let state = Mutex([String: Int]())
        private let gate = DispatchSemaphore(value: 0)

        var lookUp: @Sendable (String) -> Result<[SocketAddress], HTTPError> {
            { [self] host in
                state.withLock { $0[host, default: 0] += 1 }
                if host == "good" { return .success([try! SocketAddress(ipAddress: "127.0.0.1", port: 0)]) }
                gate.wait()
                gate.signal()
                return .failure(.nameNotResolved(host: host, code: -2))
            }
        }

        func asked(_ host: String) -> Int { state.withLock { $0[host] ?? 0 } }

        func open() { gate.signal() }
    }

    @Test func `a name is resolved while 200 other look-ups hang`() async throws {
        let source = Source()
        let resolver = NameResolver(threads: BlockingPool(named: "test", maxThreads: 256), lookUp: source.lookUp)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let dead = (0..<200).map { resolver.addresses(of: "dead-\($0)", on: loop) }
        try await until("all look-ups") { (0..<200).allSatisfy { source.asked("dead-\($0)") == 1 } }
        let addresses = try await resolver.addresses(of: "good", on: loop).get()
        #expect(addresses.map(\.ipAddress) == ["127.0.0.1"])
        source.open()
        for future in dead { await #expect(throws: HTTPError.self) { try await future.get() } }
    }

    @Test func `one look-up serves all requests for a name, and its failure the next ones`() async throws {
        let source = Source()
        let resolver = NameResolver(threads: BlockingPool(named: "test", maxThreads: 4), lookUp: source.lookUp)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let waiting = (0..<50).map { _ in resolver.addresses(of: "dead", on: loop) }
        source.open()
        for future in waiting + [resolver.addresses(of: "dead", on: loop)] {
            let error = await #expect(throws: HTTPError.self) { try await future.get() }
            #expect(error == .nameNotResolved(host: "dead", code: -2))
        }
        #expect(source.asked("dead") == 1)
    }

    @Test func `look-ups beyond the number of threads wait`() async throws {
        let source = Source()
        let resolver = NameResolver(threads: BlockingPool(named: "test", maxThreads: 2), lookUp: source.lookUp)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let all = (0..<6).map { resolver.addresses(of: "dead-\($0)", on: loop) }
        try await until("two look-ups") { (0..<6).count { source.asked("dead-\($0)") == 1 } == 2 }
        source.open()
        for future in all { await #expect(throws: HTTPError.self) { try await future.get() } }
    }

    @Test func `localhost is found by the system's resolver`() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let addresses = try await NameResolver().addresses(of: "localhost", on: loop).get()
        #expect(addresses.contains { $0.ipAddress == "127.0.0.1" || $0.ipAddress == "::1" })
    }
}
