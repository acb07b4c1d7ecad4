import Commands
import Console
import NetworkControl
import Testing

@Suite struct WatchScreenTests {
    private var busy: WatchState {
        var state = WatchState(path: "/var/lib/sluice", now: Timestamp(milliseconds: 1_772_368_496_000))
        state.hasCoordinator = true
        state.coordinatorPID = 4711
        state.counts = [.new: 1_234_567, .queued: 12, .sent: 4, .success: 98_765_432, .tooManyTimes: 3]
        for second in 0..<90 { state.addSecond(commands: Double(second * 100), bytes: 5e6) }
        for seat in 0..<4 {
            let running = (0..<5).map { number in
                RunningCommand(
                    id: CommandID(now: state.now), type: "upload", qos: .default,
                    destination: Destination(scheme: "https", host: "media.example.com", port: 443),
                    since: Timestamp(milliseconds: 1_772_368_490_000),
                    progress: CommandProgress(
                        offset: Int64(number) * 100_000_000, total: 400_000_000, rate: 2_000_000))
            }
            state.workers.append(
                .init(seat: seat, pid: 5000 + Int32(seat), state: .ready, concurrency: 16, running: running))
        }
        var broken = LinkReport(destination: "http://broken:80", level: .offline)
        broken.reason = .failures("refused 5 times")
        state.links = LinkOverview([broken])
        for number in 0..<80 {
            state.add(
                .init(
                    at: "2026-03-01T12:34:\(10 + number % 50).000Z", id: CommandID().description, status: "error",
                    reason: "503 Service\u{1B}[31m Unavailable \(number)"))
        }
        return state
    }

    @Test func `the screen fits every size of terminal`() {
        let state = busy
        for columns in stride(from: 1, through: 200, by: 11) {
            for rows in stride(from: 1, through: 70, by: 7) {
                let lines = WatchScreen.render(state, columns: columns, rows: rows)
                #expect(lines.count <= rows)
                #expect(lines.allSatisfy { TerminalText.width($0) <= columns })
                #expect(lines.allSatisfy { !$0.unicodeScalars.contains("\u{1B}") })
            }
        }
        #expect(WatchScreen.render(state, columns: 0, rows: 24).isEmpty)
    }

    @Test func `a screen of 80 by 24 shows every part`() {
        let text = WatchScreen.render(busy, columns: 80, rows: 24).joined(separator: "\n")
        #expect(text.contains("coordinator pid 4711"))
        #expect(text.contains("12:34:56Z"))
        #expect(text.contains("1.2M"))
        #expect(text.contains("99M"))
        #expect(text.contains("8.8k"))
        #expect(text.contains("5.0 MB"))
        #expect(text.contains("worker 0  pid 5000  ready  5 of 16 running"))
        #expect(text.contains("0%  400 MB  2.0 MB/s"))
        #expect(text.contains("http://broken:80"))
        #expect(text.contains("offline"))
        #expect(text.contains("  refused 5 times"))
        #expect(text.contains("last errors"))
        for seat in 0..<4 { #expect(text.contains("worker \(seat)  pid \(5000 + seat)")) }
        #expect(text.contains("and 5 more") || text.contains("and 4 more"))
    }

    @Test func `a transfer that computes a checksum is shown as such`() {
        var state = busy
        state.workers[0].running[0].progress =
            CommandProgress(
                body: ["offset": 100, "total": 400, "rate": 0, "phase": "verifying"]) ?? CommandProgress()
        let text = WatchScreen.render(state, columns: 80, rows: 60).joined(separator: "\n")
        #expect(text.contains("verifying 25%  400 B"), "\(text)")
        #expect(ProgressBar.verifying(1_200_000_000, of: 2_700_000_000) == "verifying 1.2 GB of 2.7 GB")
    }

    private func screen(_ running: [RunningCommand], columns: Int) -> [String] {
        var state = WatchState(path: "/d", now: Timestamp(milliseconds: 1_772_368_496_000))
        state.workers = [.init(seat: 0, pid: 1, state: .ready, running: running)]
        return WatchScreen.render(state, columns: columns, rows: 60)
    }

    private func command(_ type: String, _ progress: CommandProgress = .init(), name: String? = nil) -> RunningCommand {
        RunningCommand(
            id: CommandID(), type: type, qos: .default,
            destination: Destination(scheme: "https", host: "media.example.com", port: 443),
            since: Timestamp(milliseconds: 1_772_368_490_000), progress: progress, name: name)
    }

    @Test(arguments: [50, 80, 200]) func `a transfer shows its file and a bar`(_ columns: Int) throws {
        let progress = CommandProgress(offset: 50, total: 100, rate: 2_000_000)
        let lines = screen([command("download", progress, name: "clip-0042.mov")], columns: columns)
        let line = try #require(lines.first { $0.contains("clip-0042.mov") })
        #expect(line.contains("████░░░░") && line.contains("50%") && line.contains("2.0 MB/s"))
        #expect(line.contains("media.example.com") == (columns == 200))
    }

    @Test func `many commands without a size to one destination share a line`() {
        let running = (0..<500).map { _ in command("request") } + [command("fetch")]
        let lines = screen(running, columns: 80)
        #expect(lines.count { $0.contains("request") } == 1)
        #expect(lines.contains { $0.contains("500 × request https://media.example.com") && $0.hasSuffix("6.0s") })
        #expect(lines.contains { $0.contains("fetch …") })
    }

    @Test func `errors with one cause share a line with their number and the time of the newest`() {
        var state = WatchState(path: "/d", now: .now)
        for number in 0..<500 {
            state.add(
                .init(
                    at: "2026-03-01T12:34:\(10 + number % 50).000Z", id: "\(CommandID())", status: "error",
                    reason: "connection refused"))
        }
        state.add(.init(at: "2026-03-01T12:35:00.000Z", id: "\(CommandID())", status: "error", reason: "503"))
        #expect(state.problems.map(\.count) == [1, 500])
        let lines = WatchScreen.render(state, columns: 80, rows: 40)
        #expect(lines.contains("  12:34:59 ×500 error connection refused"))
    }

    @Test func `the screen shows every status by its word`() {
        let text = WatchScreen.render(busy, columns: 80, rows: 24).joined(separator: "\n")
        for status in CommandStatus.allCases { #expect(text.contains(status.word)) }
    }

    @Test func `a screen without processes says what is missing`() {
        let state = WatchState(path: "./sluice-data", now: .now)
        let text = WatchScreen.render(state, columns: 80, rows: 24).joined(separator: "\n")
        #expect(text.contains("waiting for the coordinator"))
        #expect(text.contains("no worker is running"))
    }

    @Test func `a screen shows the shards that could not be read`() {
        var state = busy
        state.warnings = ["Shard 3 (/var/lib/sluice/shard-03.sqlite) is damaged: file is not a database."]
        let lines = WatchScreen.render(state, columns: 80, rows: 24)
        #expect(lines.contains { $0.hasPrefix("Shard 3 (/var/lib/sluice/shard-03.sqlite) is damaged") })
    }

    /// A hundred links, one of them the uplink, on a screen without workers.
    private var many: WatchState {
        var state = WatchState(path: "/var/lib/sluice", now: Timestamp(milliseconds: 1_772_368_496_000))
        for number in 0..<99 {
            var link = LinkReport(
                destination: "http://host\(number).example:80", level: number < 30 ? .offline : .good)
            link.reason = .failures("refused 5 times")
            state.links.add(link)
        }
        state.links.add(LinkReport(destination: "*", level: .good))
        return state
    }

    @Test func `links take the lines that workers and errors do not need, and the uplink is among them`() {
        let state = many
        let lines = WatchScreen.render(state, columns: 80, rows: 24)
        #expect(lines.count == 24 || lines.count == 23)
        #expect(lines.count { $0.hasPrefix("http://host") } == 6)
        #expect(lines.contains { $0.hasPrefix("* ") })
        #expect(lines.contains("and 93 more links: 24 offline, 69 good; see “sluice network --all”"))
        #expect(lines.last == "no worker is running")
    }

    @Test func `the sum of the links fits every terminal and counts every link that is not shown`() {
        let state = many
        for columns in stride(from: 1, through: 100, by: 9) {
            for rows in stride(from: 1, through: 60, by: 2) {
                let lines = WatchScreen.render(state, columns: columns, rows: rows)
                #expect(lines.count <= rows && lines.allSatisfy { TerminalText.width($0) <= columns })
            }
        }
        for rows in 11...60 {
            let lines = WatchScreen.render(state, columns: 80, rows: rows)
            let shown = lines.count { $0.hasPrefix("http://host") || $0.hasPrefix("* ") }
            let sum = shown == 0 ? "100 links: " : "and \(100 - shown) more links: "
            #expect(lines.contains { $0.hasPrefix(sum) }, "\(rows)")
        }
    }

    @Test func `links get two thirds of a busy screen with --all`() {
        var state = busy
        state.links = LinkOverview(many.links.shown, limit: 50)
        func shown() -> Int {
            WatchScreen.render(state, columns: 80, rows: 50).count { $0.hasPrefix("http://host") }
        }
        let few = shown()
        state.favoursLinks = true
        #expect(few == 5 && shown() == 12)
        let text = WatchScreen.render(state, columns: 80, rows: 50).joined(separator: "\n")
        for seat in 0..<4 { #expect(text.contains("worker \(seat)  pid")) }
    }

    @Test func `the state keeps a minute of history, and the newest errors first`() {
        let state = busy
        #expect(state.commandRates.count == WatchState.historyLength)
        #expect(state.commandRates.last == 8900)
        #expect(state.problems.count == WatchState.problemsKept)
        #expect(state.problems.first?.reason.contains("79") == true)
    }
}
