import Glibc
import Testing

@testable import Supervision

@Suite struct StandardErrorRelayTests {
    private func write(_ text: String, to descriptor: CInt) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) }
        }
    }

    @Test func `passes whole lines on and keeps the last five`() async throws {
        let listener = try Listener()
        let relay = try StandardErrorRelay(destination: listener.destination)
        for number in 1...7 { write("line \(number)\n", to: relay.writeEnd) }
        write("half", to: relay.writeEnd)
        write(" and half\nno end", to: relay.writeEnd)
        close(relay.writeEnd)
        #expect(
            await relay.lastLines(timeout: .seconds(60)) == ["line 5", "line 6", "line 7", "half and half", "no end"])
        for number in 1...7 { #expect(await listener.next() == "line \(number)") }
        #expect(await listener.next() == "half and half")
    }

    @Test func `a descendant that keeps the pipe open delays the last lines only briefly`() async throws {
        let listener = try Listener()
        let relay = try StandardErrorRelay(destination: listener.destination)
        write("said\n", to: relay.writeEnd)
        #expect(await listener.next() == "said")
        #expect(await relay.lastLines(timeout: .milliseconds(1)) == ["said"])
        close(relay.writeEnd)
    }

    @Test(.timeLimit(.minutes(2))) func `a stalled reader does not hold a child up, and learns how much it has missed`()
        async throws
    {
        let ends = try Pipe.make()
        let relay = try StandardErrorRelay(destination: ends.write)
        let line = String(repeating: "x", count: 99) + "\n"
        // Much more than both pipes hold.
        for _ in 0..<10_000 { write(line, to: relay.writeEnd) }
        // Now it reads again.
        var heard = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !(heard.contains("bytes of the log were not taken in time and are lost\n") && heard.hasSuffix("last\n")) {
            write("last\n", to: relay.writeEnd)
            let count = read(ends.read, &buffer, buffer.count)
            heard += String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
        }
        #expect(heard.hasPrefix(line))
        close(relay.writeEnd)
        close(ends.read)
    }

    @Test func `a line without end is passed on in pieces and remembered in part`() async throws {
        let relay = try StandardErrorRelay(destination: -1)
        write(String(repeating: "x", count: 1_000_000), to: relay.writeEnd)
        close(relay.writeEnd)
        let lines = await relay.lastLines(timeout: .seconds(60))
        #expect(lines.count <= StandardErrorRelay.maxLines)
        #expect(lines.allSatisfy { $0.utf8.count <= 500 })
    }
}
