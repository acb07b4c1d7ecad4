import Commands
import Foundation
import Sluice
import Store
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// A running coordinator applies `sluice network set`, and reports its links.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct NetworkSteeringTests {
        private static let size = 3_000_000

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a destination held offline stays offline over a restart, and opens at once when released`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker()
                let store = try installation.store()
                func put() async throws -> CommandID {
                    try await installation.sluice("put", file, "--to", "\(receiver.origin)/in/").ids[0]
                }
                try await installation.await(try await put(), .success, in: store)

                try await set(installation, receiver, "--level", "offline")
                let held = try await put()
                // Commands to other destinations succeed.
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(try store.command(held)?.status == .new)
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                _ = try await installation.coordinator()
                #expect(try await installation.sluice("submit", "noop", "--wait").code == 0)
                #expect(try store.command(held)?.status == .new && receiver.requests.count == 1)
                let explained = try await installation.sluice("explain", "\(held)")
                #expect(explained.output.contains("held offline by a person"), "\(explained.output)")

                try await set(installation, receiver, "--level", "auto")
                try await installation.await(held, .success, in: store, within: .seconds(10))
            }
        }

        @Test func `a rate set by a person reaches the wire, also for running transfers`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/in/a.bin", .slow(bytesPerSecond: 1_000_000))
                let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: Self.size))
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker()
                let store = try installation.store()
                let id = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/in/", "--protocol", "put", "--qos", "userInteractive"
                ).ids[0]
                try await until("the first bytes") { (receiver.requests.first?.bytes ?? 0) > 100_000 }
                try await set(installation, receiver, "--max-rate", "100kB")
                // The bytes in the buffers of both sockets arrive first, with bbr at 4 segments of loopback a
                // second; then 200 kB take two seconds, not 0.2 or 0.8 s.
                try await until("the pace") {
                    let (before, since) = (receiver.requests[0].bytes, ContinuousClock.now)
                    try await until("200 kB more") { receiver.requests[0].bytes >= before + 200_000 }
                    return (ContinuousClock.now - since).seconds >= 1.6
                }
                #expect(receiver.requests[0].bytes < Self.size)
                // The first control message of another coordinator has the rate.
                coordinator.signal(SIGKILL)
                _ = await coordinator.end
                _ = try await installation.coordinator()
                let (before, since) = (receiver.requests[0].bytes, ContinuousClock.now)
                try await until("300 kB more") { receiver.requests[0].bytes >= before + 300_000 }
                // Three seconds; 0.3 s without a limit. Segments of 64 KiB may arrive first.
                #expect((ContinuousClock.now - since).seconds >= 2)
                try await set(installation, receiver, "--max-rate", "none")
                try await installation.await(id, .success, in: store, within: .seconds(20))
            }
        }

        @Test func `a due probe without a free slot does not keep the coordinator busy`() async throws {
            try await Installation.with { installation in
                let coordinator = try await installation.coordinator()
                _ = try await installation.worker("--concurrency", "1")
                let store = try installation.store()
                let source = try installation.directory.file("file", [1])
                let put = try await installation.sluice("put", source, "--to", "http://127.0.0.1:\(try freePort())/x")
                let id = try #require(put.ids.first, "\(put.errors)")
                try await until("a first try") { try store.command(id)?.claim ?? 0 > 0 }
                let long = try await installation.sluice("submit", "noop", "--payload", "{\"milliseconds\":60000}")
                let noop = try #require(long.ids.first, "\(long.errors)")
                try await installation.await(noop, .sent, in: store)
                // From here on the next probe is due, and the only slot is taken.
                let before = processorTime(of: coordinator.pid)
                let end = ContinuousClock.now + .seconds(6)
                try await until("six seconds") { ContinuousClock.now > end }
                let share = (processorTime(of: coordinator.pid) - before) / 6
                #expect(share < 0.1, "\(share) of a core")
            }
        }

        /// The processor time used until now, in seconds.
        private func processorTime(of pid: pid_t) -> Double {
            let text = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
            return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }

        @Test func `a running coordinator reports its links in network and by events`() async throws {
            try await Installation.with { installation in
                // The kernel of the receiver acknowledges what it buffers, which might be the whole file.
                let receiver = try await installation.receiver(buffer: 64 << 10)
                receiver.on("/in/a.bin", .slow(bytesPerSecond: 1_000_000))
                let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: Self.size))
                _ = try await installation.up()
                let client = try SluiceClient(data: installation.data, store: installation.serverStore?.url)
                let heard = Mutex<[SluiceEvent]>([])
                let listening = Task { [events = try client.events(prefix: "link/")] in
                    for await event in events { heard.withLock { $0.append(event) } }
                }
                let id = try await installation.sluice("put", file, "--to", "\(receiver.origin)/in/").ids[0]
                // The receiver may have closed its window at every report; then its goodput is not that of
                // the link.
                try await until("an event of the link with its rate") {
                    heard.withLock { $0 }.contains {
                        $0.subject == receiver.origin && ($0.body["rate"]?.integer ?? 0) > 100_000
                    }
                }
                // The history grows once a second, and the first event may come before.
                let link = try await awaited("a second of history") {
                    let link = try await installation.sluice("network", "--json").lines
                        .map { try JSONValue(parsing: $0.utf8) }.first { $0["destination"]?.string == receiver.origin }
                    return link?["history"]?.elements?.isEmpty == false ? link : nil
                }
                // Loopback counts as local.
                #expect(link["limit"]?.integer == 64)
                #expect(link["inFlight"]?.integer == 1)
                #expect((100_000...2_000_000).contains(link["rate"]?.integer ?? 0), "\(link)")
                // The store has only the first state of the link.
                let status = try await installation.status()?["links"]?.elements?
                    .first { $0["destination"]?.string == receiver.origin }
                #expect((100_000...2_000_000).contains(status?["rate"]?.integer ?? 0))
                try await installation.await(id, .success, in: installation.store())
                listening.cancel()
                await client.close()
            }
        }

        private func set(
            _ installation: Installation, _ receiver: MisbehavingReceiver, _ option: String, _ value: String
        ) async throws {
            let done = try await installation.sluice("network", "set", receiver.origin, option, value)
            #expect(done.code == 0, "\(done.errors)")
        }
    }
}
