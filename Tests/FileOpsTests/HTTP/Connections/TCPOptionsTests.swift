import Commands
import Foundation
import Operations
import TestSupport
import Testing

/// The socket options of uploads, as reported by the kernel.
@Suite struct TCPOptionsTests {
    /// `TCP_NOTSENT_LOWAT` of this process's connections to a port of 127.0.0.1, in bytes.
    private static func unsentLimits(to port: Int) -> [CInt] { options(CInt(IPPROTO_TCP), 25, to: port) }

    /// `SO_MAX_PACING_RATE` of these connections, in bytes per second; -1: none.
    private static func rateLimits(to port: Int) -> [CInt] { options(SOL_SOCKET, 47, to: port) }

    private static func options(_ level: CInt, _ name: CInt, to port: Int) -> [CInt] {
        descriptors(connectedTo: port).compactMap { descriptor in
            var value: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
        }
    }

    /// Sets the congestion control of these connections.
    private static func setCongestionControl(_ name: String, to port: Int) {
        for descriptor in descriptors(connectedTo: port) {
            #expect(setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count)) == 0)
        }
    }

    /// The congestion controls that this process may use.
    private static let congestionControls = Set(
        String(decoding: contents(of: "/proc/sys/net/ipv4/tcp_allowed_congestion_control") ?? [], as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).map(String.init))

    /// Begins a low upload to `/low` and sets the congestion control of its connection.
    private static func begin(
        _ file: String, with congestion: String, _ receiver: MisbehavingReceiver, _ harness: UploadHarness
    ) async throws -> (execution: CommandExecution, task: Task<Void, any Error>) {
        receiver.on("/low", .slow(bytesPerSecond: 1_000_000))
        let (low, _) = try harness.execution(file: file, to: "\(receiver.origin)/low", qos: .background)
        let task = Task { _ = try await harness.run(low) }
        try await until("its first bytes") { (receiver.requests(to: "/low").first?.bytes ?? 0) > 0 }
        setCongestionControl(congestion, to: receiver.port)
        return (low, task)
    }

    @Test(.enabled(if: congestionControls.contains("bbr"), "this kernel does not permit bbr to all users"))
    func `bbr keeps to the pace, and the next request on the connection has its own`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(4_000_000)
            let (low, first) = try await Self.begin(file, with: "bbr", receiver, harness)
            low.pace.set(400_000)
            // A quarter more, for heads and retransmissions.
            try await until("the pace") { Self.rateLimits(to: receiver.port) == [500_000] }
            low.pace.set(0)
            // 4 segments a second, so that a paused transfer continues soon after the pause.
            let segment = try #require(Self.options(CInt(IPPROTO_TCP), TCP_MAXSEG, to: receiver.port).first)
            try await until("the pause") { Self.rateLimits(to: receiver.port) == [4 * segment] }
            low.pace.set(2_000_000)
            _ = try await first.value
            #expect(Self.rateLimits(to: receiver.port) == [2_500_000])

            let (high, _) = try harness.execution(file: file, to: "\(receiver.origin)/high", qos: .userInitiated)
            _ = try await harness.run(high)
            #expect(Self.rateLimits(to: receiver.port) == [-1])
            #expect(receiver.requests.map(\.connection) == [0, 0], "without a kept connection this shows nothing")
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `other congestion controls get no pacing rate`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(4_000_000)
            let (low, first) = try await Self.begin(file, with: "reno", receiver, harness)
            low.pace.set(400_000)
            let before = receiver.requests(to: "/low").first?.bytes ?? 0
            try await until("more at that pace") {
                (receiver.requests(to: "/low").first?.bytes ?? 0) > before + 100_000
            }
            #expect(Self.rateLimits(to: receiver.port) == [-1])
            low.pace.set(nil)
            _ = try await first.value
        }
    }

    /// The bytes per second that bbr has measured.
    private static func knownRates(to port: Int) -> [UInt64] {
        descriptors(connectedTo: port).compactMap { descriptor in
            // TCP_CC_INFO: struct tcp_bbr_info starts with the two halves of the rate.
            var words = InlineArray<5, UInt32>(repeating: 0)
            var length = socklen_t(MemoryLayout.size(ofValue: words))
            guard getsockopt(descriptor, CInt(IPPROTO_TCP), 26, &words, &length) == 0 else { return nil }
            return UInt64(words[1]) << 32 | UInt64(words[0])
        }
    }

    @Test(
        .enabled(if: congestionControls.contains("bbr"), "this kernel does not permit bbr to all users"),
        arguments: [Commands.QualityOfService.userInitiated, .background])
    func `bbr restarts with each request on a kept connection`(qos: Commands.QualityOfService) async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 4_000_000))
            let file = try harness.hollowFile(2_000_000)
            let (first, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let task = Task { try await harness.run(first) }
            try await until("its first bytes") { (receiver.requests(to: "/a").first?.bytes ?? 0) > 0 }
            Self.setCongestionControl("reno", to: receiver.port)
            Self.setCongestionControl("bbr", to: receiver.port)
            _ = try await task.value
            let known = try #require(Self.knownRates(to: receiver.port).first)
            #expect(known > 0, "without a measured rate this shows nothing")

            let (second, _) = try harness.execution(file: file, to: "\(receiver.origin)/b", qos: qos)
            second.pace.set(0)
            let held = Task { try await harness.run(second) }
            // The limit of a paused transfer is set after the restart.
            try await until("the pause") { Self.rateLimits(to: receiver.port) != [-1] }
            #expect(Self.knownRates(to: receiver.port) == [0])
            second.pace.set(nil)
            _ = try await held.value
            #expect(receiver.requests.map(\.connection) == [0, 0], "without a kept connection this shows nothing")
        }
    }

    @Test func `low quality has at most 16 KiB unsent, and high quality on the same connection more`()
        async throws
    {
        try await withReceiver { receiver, harness in
            let small = try harness.hollowFile(100_000, name: "small")
            let large = try harness.hollowFile(64 << 20)
            let (low, _) = try harness.execution(file: small, to: "\(receiver.origin)/low", qos: .background)
            low.pace.set(50_000)
            let first = Task { try await harness.run(low) }
            try await until("the low one") { (receiver.requests(to: "/low").first?.bytes ?? 0) > 0 }
            #expect(Self.unsentLimits(to: receiver.port) == [16 << 10])
            low.pace.set(nil)
            _ = try await first.value

            receiver.on("/high", .slow(bytesPerSecond: 1_000_000))
            let (high, _) = try harness.execution(file: large, to: "\(receiver.origin)/high", qos: .userInitiated)
            let second = Task { try await harness.run(high) }
            try await until("the high one") { (receiver.requests(to: "/high").first?.bytes ?? 0) > 0 }
            #expect(Self.unsentLimits(to: receiver.port) == [256 << 10])
            #expect(receiver.requests.map(\.connection) == [0, 0], "without a kept connection this shows nothing")
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
        }
    }
}
