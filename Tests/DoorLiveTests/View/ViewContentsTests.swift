import Commands
import Console
import NetworkControl
import Testing

@testable import DoorLive

struct ViewContentsTests {
    private func json(_ part: ViewPart, _ snapshot: LiveSnapshot) throws -> JSONValue {
        try JSONValue(parsing: ViewContents(snapshot: snapshot, progress: { _ in nil }).bytes(of: part))
    }

    @Test func `every part of an empty and of a full snapshot is JSON of at most a third of a frame`() throws {
        var full = LiveSnapshot(asOf: .now)
        let name = "\"><svg onload=…>\u{202E}\n" + String(repeating: "ü", count: 250)
        var worker = WorkerReading(seat: 0, pid: 1, state: .ready)
        for _ in 0..<500 {
            worker.running.append(
                RunningCommand(
                    id: CommandID(), type: "upload", qos: .default, destination: LiveRig.origin, since: .now,
                    name: name))
        }
        full.workers = Array(repeating: worker, count: 50)
        full.links = LinkOverview(
            (0..<300).map { LinkReport(destination: "https://\($0).example:443", level: .poor) }, limit: 200)
        for number in 0..<100 { full.problems.add(.init(at: "", id: "", status: "error", reason: "\(number) \(name)")) }
        full.pauses = Array(repeating: name, count: 100)
        for snapshot in [LiveSnapshot(asOf: .now), full] {
            for part in ViewPart.allCases {
                let json = try json(part, snapshot)
                #expect(json.bytes.count <= ViewFrame.maxBytes / 3, "\(part) has \(json.bytes.count) bytes")
            }
        }
        let running = try json(.running, full)
        #expect(running["count"]?.integer == 25_000 && (running["shown"]?.elements?.count ?? 0) > 3)
        #expect(running["shown"]?.elements?.first?["name"]?.string?.hasPrefix("\"><svg onload=…>") == true)
        #expect(try json(.links, full)["count"]?.integer == 300)
    }

    @Test func `the newest progress of a command is that of its events`() throws {
        var snapshot = LiveSnapshot(asOf: .now)
        let id = CommandID()
        var worker = WorkerReading(seat: 0, pid: 1, state: .ready)
        worker.running = [
            RunningCommand(
                id: id, type: "upload", qos: .default, destination: LiveRig.origin, since: .now,
                progress: CommandProgress(offset: 1, total: 100))
        ]
        snapshot.workers = [worker]
        let contents = ViewContents(snapshot: snapshot) { $0 == id ? CommandProgress(offset: 50, rate: 7) : nil }
        let shown = try JSONValue(parsing: contents.bytes(of: .running))["shown"]?.elements?.first
        #expect(shown?["offset"]?.integer == 50 && shown?["total"]?.integer == 100 && shown?["rate"]?.integer == 7)
    }
}
