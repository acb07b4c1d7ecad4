internal import Commands
internal import Host
internal import Sluice
internal import Store

/// Events as JSON lines, each with its topic.
struct WatchLines {
    let directory: DataDirectory
    let topics: [String]

    func run() async throws {
        SignalHandling.exits()
        let feed = try EventFeed(directory: directory, prefixes: topics.isEmpty ? [""] : topics) { Self.show($0) }
        if !directory.run.probe(.coordinator).isHeld { Diagnostics.say("waiting for the coordinator") }
        while true {
            // Events are shown soon, and a burst costs few writes.
            try await Task.sleep(for: .milliseconds(50))
            Output.flush()
            withExtendedLifetime(feed) {}
        }
    }

    private static func show(_ frame: UnsafeRawBufferPointer) {
        guard let space = frame.firstIndex(of: UInt8(ascii: " ")), space + 1 < frame.count,
            frame[space + 1] == UInt8(ascii: "{"),
            let topic = String(validating: frame[..<space], as: UTF8.self)
        else { return }
        let members = frame[(space + 2)...]
        var line = Array("{\"topic\":".utf8)
        line += JSONValue.string(topic).bytes
        if members.first != UInt8(ascii: "}") { line.append(UInt8(ascii: ",")) }
        line += members
        Output.line(line)
    }
}
