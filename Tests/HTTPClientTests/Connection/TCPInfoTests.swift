import Testing

@testable import HTTPClient

struct TCPInfoTests {
    /// - Parameters:
    ///   - unacknowledged: packets.
    ///   - sinceData: milliseconds, as `sinceAnswer`.
    private func info(
        window: UInt32, unacknowledged: UInt32 = 0, unsent: UInt32 = 60_000, probes: UInt8 = 0, sinceData: UInt32 = 0,
        sinceAnswer: UInt32 = 0
    ) -> TCPInfo {
        var info = TCPInfo()
        func set(_ value: UInt32, at offset: Int) {
            info.bytes[offset / 8] |= UInt64(value) << (offset % 8 * 8)
        }
        set(UInt32(probes), at: 3)
        set(1_448, at: 16)
        set(unacknowledged, at: 24)
        set(sinceData, at: 44)
        set(sinceAnswer, at: 56)
        set(unsent, at: 144)
        set(window, at: 228)
        return info
    }

    @Test func `a window is closed while probes of it are answered`() {
        let start = info(window: 65_536)
        #expect(info(window: 0).isWindowClosed(since: start))
        #expect(info(window: 1_000).isWindowClosed(since: start), "there is no room for a packet")
        #expect(info(window: 0, probes: 2).isWindowClosed(since: start))
        #expect(!info(window: 0, probes: 3).isWindowClosed(since: start))
        #expect(!info(window: 65_536).isWindowClosed(since: start))
        #expect(!info(window: 0, unsent: 0).isWindowClosed(since: start), "there is nothing to send")
        #expect(!info(window: 0).isWindowClosed(since: info(window: 0)), "the kernel does not report it")
    }

    @Test func `a packet that a closed window refused is repeated in the place of probes`() {
        let start = info(window: 65_536)
        let refused = info(window: 0, unacknowledged: 1, sinceData: 900, sinceAnswer: 899)
        #expect(refused.isWindowClosed(since: start))
        #expect(info(window: 0, unacknowledged: 1, unsent: 0).isWindowClosed(since: start), "it may be the last")
        let lost = info(window: 0, unacknowledged: 1, sinceData: 400, sinceAnswer: 1_300)
        #expect(!lost.isWindowClosed(since: start), "the host does not answer")
        let inFlight = info(window: 1_448, unacknowledged: 1)
        #expect(!inFlight.isWindowClosed(since: start))
        #expect(!refused.isWindowClosed(since: info(window: 0)))
    }
}
