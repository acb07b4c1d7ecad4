import NIOCore
import Testing

@testable import DoorLive

struct ViewHubTests {
    private let all = Set(ViewPart.allCases)

    private func text(_ frame: ViewFrame?, _ filter: Set<ViewPart>? = nil) -> [String] {
        frame?.buffers(filter ?? all).map { String(buffer: $0) } ?? []
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `a stream gets the whole state first, then what has changed`() throws {
        let hub = ViewHub()
        #expect(hub.frame(after: 0) == nil)
        #expect(hub.publish([.counts: bytes("1"), .links: bytes("2")]))
        let first = try #require(hub.frame(after: 0))
        #expect(text(first) == ["event: view\ndata: {\"counts\":1,\"links\":2}\n\n"])
        #expect(hub.frame(after: first.number) == nil)
        #expect(!hub.publish([.counts: bytes("1"), .links: bytes("2")]))
        #expect(hub.publish([.counts: bytes("1"), .links: bytes("3")]))
        let second = try #require(hub.frame(after: first.number))
        #expect(text(second) == ["event: view\ndata: {\"links\":3}\n\n"])
    }

    @Test func `a stream that missed a frame gets the whole state`() throws {
        let hub = ViewHub()
        _ = hub.publish([.counts: bytes("1"), .links: bytes("1")])
        let first = try #require(hub.frame(after: 0))
        for number in 2...4 { _ = hub.publish([.counts: bytes("\(number)"), .links: bytes("1")]) }
        #expect(text(hub.frame(after: first.number)) == ["event: view\ndata: {\"counts\":4,\"links\":1}\n\n"])
    }

    @Test func `a frame has at most eight kilobytes, and the rest is in the next ones`() throws {
        let hub = ViewHub()
        let large = bytes("\"" + String(repeating: "x", count: 3000) + "\"")
        let parts: [ViewPart] = [.running, .links, .uploads, .problems, .workers]
        _ = hub.publish(Dictionary(uniqueKeysWithValues: parts.map { ($0, large) }))
        let first = try #require(hub.frame(after: 0))
        let whole = text(first)
        #expect(whole.count == 3 && whole.allSatisfy { $0.utf8.count <= 8192 })
        for part in parts { #expect(whole.joined().contains("\"\(part.rawValue)\":")) }
        var number = first.number
        var sent: [String] = []
        while hub.publish([:]) {
            let frame = try #require(hub.frame(after: number))
            number = frame.number
            sent += text(frame)
        }
        #expect(sent.count == 2 && sent.allSatisfy { $0.utf8.count <= 8192 })
    }

    @Test func `a filter leaves other parts out, and streams with one filter share the bytes`() throws {
        let hub = ViewHub()
        _ = hub.publish([.counts: bytes("1"), .links: bytes("2")])
        let frame = try #require(hub.frame(after: 0))
        #expect(text(frame, [.links]) == ["event: view\ndata: {\"links\":2}\n\n"])
        #expect(text(frame, [.running]).isEmpty)
        let addresses = (0..<2).map { _ in
            frame.buffers(all)[0].withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[0] == addresses[1])
    }

    @Test func `after a time without streams the old state is not sent`() throws {
        let hub = ViewHub()
        _ = hub.publish([.counts: bytes("1"), .links: bytes("2")])
        hub.clear()
        let empty = try #require(hub.frame(after: 0))
        #expect(text(empty).isEmpty)
        _ = hub.publish([.counts: bytes("5")])
        #expect(text(hub.frame(after: empty.number)) == ["event: view\ndata: {\"counts\":5}\n\n"])
    }
}
