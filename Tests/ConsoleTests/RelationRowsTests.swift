import Commands
import Console
import Testing

@Suite struct RelationRowsTests {
    /// 2026-03-01T12:34:56Z.
    private let now = Timestamp(milliseconds: 1_772_368_496_000)

    private func flow(_ name: String, ended: Int, of nodes: Int, failed: Int = 0) -> FlowState {
        var command = Command(
            id: CommandID(now: now), type: CommandType.flow, destination: .none, createdAt: now + .seconds(-90))
        command.status = .blocked
        return FlowState(command: command, name: name, nodes: nodes, open: nodes - ended, failed: failed)
    }

    private var overview: RelationOverview {
        var overview = RelationOverview()
        overview.flows.count = 1000
        overview.flows.isComplete = false
        overview.flows.newest = [
            flow("quotes", ended: 3, of: 12, failed: 1),
            flow(String(repeating: "long name ", count: 9), ended: 0, of: 5),
            flow("", ended: 1_234_567, of: 2_000_000),
        ]
        overview.keys.add(OrderingKeyOverview.Queue(key: "account 7", waiting: 12))
        overview.keys.add(OrderingKeyOverview.Queue(key: "account 9", waiting: 3))
        overview.schedules.add(name: "nightly", isPaused: false, next: now + .seconds(600), reason: nil)
        overview.schedules.add(name: "later", isPaused: false, next: now + .seconds(86_400 * 3), reason: nil)
        overview.schedules.add(name: "off", isPaused: true, next: nil, reason: nil)
        for number in 0..<5 {
            overview.schedules.add(
                name: "paris \(number)", isPaused: false, next: nil,
                reason: "there is no time zone “Europe/Pariss”; install tzdata")
        }
        return overview
    }

    @Test func `a wide terminal shows flows with bars, keys, and schedules with their reasons`() {
        let lines = RelationText(overview, now: now, columns: 100).lines
        #expect(lines[0] == "flows        1,000+ open")
        #expect(lines[1].hasPrefix("  quotes …") && lines[1].hasSuffix("████░░░░░░░░░░░░ 3 of 12  1 failed  1m 30s"))
        #expect(lines[3].contains("flow …") && lines[3].contains("1,234,567 of 2,000,000"))
        #expect(lines[4] == "keys         15 commands wait for 2; “account 7” has 12")
        #expect(lines[5] == "schedules    “nightly” in 10m (12:44:56Z), 8 in all, 1 paused, 5 held")
        #expect(lines[6].hasPrefix("  “paris 0” is held: there is no time zone"))
        #expect(lines[8] == "  and 3 more held: see “sluice schedule list”")
        #expect(lines.count == 9)
    }

    @Test func `batches stand below flows, and those that are not sealed say so`() {
        var overview = overview
        overview.batches.count = 2
        overview.batches.newest = ["import", ""].map { name in
            var command = Command(
                id: CommandID(now: now), type: CommandType.batch, destination: .none, createdAt: now + .seconds(-90))
            command.status = .blocked
            return BatchState(
                command: command, name: name, isSealed: name.isEmpty, members: 8000, open: 6000, failed: 2)
        }
        let lines = RelationText(overview, now: now, columns: 100).lines
        #expect(lines[4] == "batches      2 open")
        #expect(lines[5].hasPrefix("  import …"))
        #expect(lines[5].hasSuffix("████░░░░░░░░░░░░ 2,000 of 8,000  2 failed  1m 30s, takes more"), "\(lines[5])")
        #expect(lines[6].hasPrefix("  batch …") && lines[6].hasSuffix("1m 30s"))
        #expect(lines[7].hasPrefix("keys "))
        for room in 2..<20 {
            #expect(RelationText(overview, now: now, columns: 60).panel(room: room).count <= room)
        }
    }

    @Test func `a narrow terminal shows the name, the bar and the numbers`() {
        let lines = RelationText(overview, now: now, columns: 50).lines
        #expect(lines[1].contains("quotes …") && lines[1].hasSuffix("██░░░░░░ 3/12  1 failed"), "\(lines[1])")
        for columns in stride(from: 1, through: 130, by: 3) {
            for line in RelationText(overview, now: now, columns: columns).lines {
                #expect(TerminalText.width(line) <= columns)
            }
        }
    }

    @Test func `where there is little room, the counts come before the flows`() {
        let rows = RelationText(overview, now: now, columns: 60)
        #expect(rows.panel(room: 1).isEmpty)
        for room in 2..<20 { #expect(rows.panel(room: room).count <= room) }
        let four = rows.panel(room: 4)
        #expect(four.map { $0.prefix(4) } == ["", "flow", "keys", "sche"])
        let six = rows.panel(room: 6)
        #expect(six.count == 6 && six[4].contains("“paris 0” is held") && six[5].contains("and 4 more held"))
        let nine = rows.panel(room: 9)
        #expect(nine.count == 9 && nine[2].contains("quotes"))
    }

    @Test func `without flows, keys and schedules nothing is shown`() {
        #expect(RelationText(RelationOverview(), now: now, columns: 80).lines.isEmpty)
        #expect(RelationText(RelationOverview(), now: now, columns: 80).panel(room: 20).isEmpty)
        let state = WatchState(path: "/d", now: now)
        var other = state
        other.relations = overview
        let plain = WatchScreen.render(state, columns: 80, rows: 24)
        #expect(!plain.contains { $0.hasPrefix("flows") || $0.hasPrefix("keys") || $0.hasPrefix("schedules") })
        let full = WatchScreen.render(other, columns: 50, rows: 20)
        #expect(full.count <= 20 && full.contains { $0.hasPrefix("schedules") }, "\(full)")
        #expect(full.contains("no worker is running"))
    }
}
