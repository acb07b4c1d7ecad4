import Commands
import Foundation
import Glibc
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The output on a terminal.
    struct TerminalTests {
        @Test
        func `watch fits its terminal, survives a resize and the death of the coordinator, and restores the screen`()
            async throws
        {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 2)
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids[0]
                try await installation.await(id, .sent, in: installation.store())
                let terminal = try Pseudoterminal(columns: 80, rows: 24)
                let watch = try installation.start("watch", terminal: terminal)

                let first = try #require(try await coordinator(installation))
                try await until("the first screen") {
                    terminal.screen.first?.contains("coordinator pid \(first)") == true
                }
                try await until("both workers and the command") {
                    let screen = terminal.screen
                    return screen.count { $0.hasPrefix("worker ") && $0.contains("of 16 running") } == 2
                        && screen.contains { $0.contains("noop …\(id.description.suffix(12))") }
                }
                try expect(terminal.screen, fits: 80, 24)

                try terminal.resize(columns: 50, rows: 12)
                // The rows change before the columns, and a screen may be drawn in between.
                try await until("a smaller screen") {
                    let screen = terminal.screen
                    return !screen.isEmpty && screen.count <= 12 && screen.allSatisfy { $0.count <= 50 }
                }

                kill(first, SIGKILL)
                try await until("the next coordinator") {
                    guard let line = terminal.screen.first, line.contains("coordinator pid") else { return false }
                    return !line.contains("pid \(first)")
                }
                try expect(terminal.screen, fits: 50, 12)

                #expect(watch.ending == nil)
                terminal.type("q")
                #expect(try await watch.end(within: .seconds(20)) == .exited(0))
                #expect(terminal.output.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
            }
        }

        @Test(arguments: [[], ["--topic", "status/"]])
        func `watch exits with the code of its signal, and prints lines when topics are given`(
            _ options: [String]
        ) async throws {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 1)
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids[0]
                try await installation.await(id, .sent, in: installation.store())
                let terminal = try Pseudoterminal()
                let watch = try installation.start(
                    program: "\(Installation.bin)/sluice", ["watch"] + options, terminal: terminal)
                let shown = options.isEmpty ? "worker " : #"{"topic":"status/"#
                try await until("its output") { terminal.output.contains(shown) }
                #expect(terminal.output.contains("\u{1B}[?1049h") == options.isEmpty)
                watch.signal(SIGTERM)
                #expect(try await watch.end(within: .seconds(20)) == .exited(143))
                #expect(terminal.output.contains("\u{1B}[?1049l") == options.isEmpty)
            }
        }

        /// The progress of `--wait` is the other output that moves the cursor.
        @Test func `a terminal that moves no cursor gets lines of text and no control characters`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 1)
                let terminal = try Pseudoterminal()
                let watch = try installation.start("watch", environment: ["TERM": "dumb"], terminal: terminal)
                try await until("the worker") { terminal.output.contains(" worker 0 ready, pid ") }
                let other = try Pseudoterminal()
                let submit = try installation.start(
                    "submit", "noop", "--payload", #"{"milliseconds":500}"#, "--wait", environment: ["TERM": "dumb"],
                    terminal: other)
                #expect(try await submit.end(within: .seconds(30)) == .exited(0))
                try await until("the end of the command") { terminal.output.contains(" success noop") }
                #expect(!terminal.output.contains("\u{1B}") && !other.output.contains("\u{1B}"))
                watch.signal(SIGTERM)
                #expect(try await watch.end(within: .seconds(20)) == .exited(143))
            }
        }

        /// The terminal is stopped with Ctrl-S, or its other end is not read.
        @Test(.enabled(if: runsSlowTests, "slow"), arguments: [true, false])
        func `watch ends at SIGTERM also when its terminal accepts no output`(_ isStopped: Bool) async throws {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 1)
                let terminal = try Pseudoterminal()
                let watch = try installation.start("watch", terminal: terminal)
                try await until("the screen") { terminal.output.contains("worker ") }
                if isStopped { terminal.type("\u{13}") }
                // A resize draws the screen at once.
                try await until("a write that waits") {
                    watch.signal(SIGWINCH)
                    return try await watch.isWriting(to: STDOUT_FILENO)
                }
                watch.signal(SIGTERM)
                #expect(try await watch.end(within: .seconds(20)) == .exited(143))
                // Output continues after Ctrl-Q, and the screen is restored.
                if isStopped { #expect(terminal.output.contains("\u{1B}[?1049l")) }
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `put shows its progress, and Ctrl-C detaches without a cancellation`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/in/film", .slow(bytesPerSecond: 400_000))
                let source = try installation.directory.file("film", [UInt8](repeating: 7, count: 2_000_000))
                _ = try await installation.up()
                let terminal = try Pseudoterminal()
                let put = try installation.start(
                    "put", source, "--to", "\(receiver.origin)/in/", "--wait", terminal: terminal)
                try await until("a bar with some of it") {
                    terminal.output.components(separatedBy: "\r").contains {
                        $0.contains(" of 2.0 MB") && $0.contains("█") && $0.contains("░") && $0.contains("/s")
                    }
                }
                terminal.type("\u{3}")
                #expect(try await put.end(within: .seconds(20)) == .exited(130))
                #expect(terminal.output.contains("detached; the commands go on"))
                let id = try #require(
                    terminal.output.components(separatedBy: .whitespacesAndNewlines).compactMap { CommandID($0) }.first)
                let command = try await installation.await(id, .success, in: installation.store())
                #expect(command.claim == 1 && command.offset == 2_000_000)
            }
        }

        @Test func `a terminal without a size is treated as 80 columns wide`() async throws {
            try await Installation.with { installation in
                let lines = "\(installation.directory.path)/lines"
                #expect(mkfifo(lines, 0o600) == 0)
                let input = open(lines, O_RDWR | O_CLOEXEC)
                #expect(input >= 0)
                let terminal = try Pseudoterminal(columns: 0, rows: 0)
                let submit = try installation.start(
                    program: "/bin/sh", ["-c", #""$0" submit noop - <lines >ids"#, "\(Installation.bin)/sluice"],
                    terminal: terminal)
                let line = Array((#"{"payload":{}}"# + "\n").utf8)
                try await until("its progress") {
                    if let ending = submit.ending { throw Missed("submit ended: \(ending)\n\(terminal.output)") }
                    _ = write(input, line, line.count)
                    return terminal.output.contains(" submitted  ")
                }
                close(input)
                #expect(try await submit.end(within: .seconds(20)) == .exited(0))
            }
        }

        @Test(.filesOnly("a store on a server is backed up with its server"))
        func `a progress line fits its terminal`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let terminal = try Pseudoterminal(columns: 12, rows: 24)
                let backup = try installation.start("backup", "copy", terminal: terminal)
                #expect(try await backup.end(within: .seconds(20)) == .exited(0))
                let shown = terminal.output.components(separatedBy: "\r\u{1B}[2K").filter { $0.hasPrefix("shard ") }
                #expect(!shown.isEmpty)
                for line in shown { #expect(line.count < 12, "\(line)") }
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `watch and network show a link with its last minutes`() async throws {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/in/film", .slow(bytesPerSecond: 400_000))
                let source = try installation.directory.file("film", [UInt8](repeating: 7, count: 8_000_000))
                _ = try await installation.up()
                _ = try await installation.sluice("put", source, "--to", "\(receiver.origin)/in/")
                let screen = try Pseudoterminal(columns: 80, rows: 24)
                _ = try installation.start("watch", terminal: screen)
                try await until("the link's line") {
                    screen.screen.contains { $0.hasPrefix(receiver.origin) && $0.contains("/s  1 of ") }
                }
                try expect(screen.screen, fits: 80, 24)
                try await until("a sparkline") {
                    let terminal = try Pseudoterminal(columns: 60, rows: 24)
                    let network = try installation.start("network", terminal: terminal)
                    #expect(try await network.end(within: .seconds(20)) == .exited(0))
                    let lines = terminal.output.split(whereSeparator: \.isNewline).map(String.init)
                    try expect(lines, fits: 60, 24)
                    return lines.contains { $0.hasPrefix(receiver.origin) }
                        && lines.contains { $0.contains { "▁▂▃▄▅▆▇█".contains($0) } }
                }
            }
        }

        @Test(arguments: [[], ["--all"]])
        func `watch sums the links that do not fit the screen, and shows more with --all`(
            _ options: [String]
        ) async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let store = try installation.store()
                try store.set("link.up.*", to: #"{"level":"good"}"#)
                for number in 10..<60 { try store.set("link.up.http://\(number).example:80", to: #"{"level":"good"}"#) }
                let screen = try Pseudoterminal(columns: 40, rows: 60)
                _ = try installation.start(
                    program: "\(Installation.bin)/sluice", ["watch"] + options, terminal: screen)
                let sum = options.isEmpty ? "and 31 more links: all good" : "and 4 more links: all good"
                try await until("the sum") { screen.screen.contains(sum) }
                #expect(screen.screen.count { $0.hasPrefix("http://") } == (options.isEmpty ? 19 : 46))
                #expect(screen.screen.contains { $0.hasPrefix("* ") })
                try expect(screen.screen, fits: 40, 60)
            }
        }

        @Test func `the links of status fit a narrow terminal`() async throws {
            try await Installation.with { installation in
                _ = try await installation.sluice("submit", "noop")
                let store = try installation.store()
                for number in 10..<40 {
                    try store.set(
                        "link.up.http://\(number).example:80", to: #"{"level":"offline","reason":"refused 5 times"}"#)
                }
                let terminal = try Pseudoterminal(columns: 40, rows: 24)
                let status = try installation.start("status", terminal: terminal)
                #expect(try await status.end(within: .seconds(20)) == .exited(0))
                let lines = terminal.output.split(whereSeparator: \.isNewline).map(String.init)
                    .drop { !$0.hasPrefix("http") }
                #expect(lines.count == 42 && lines.allSatisfy { $0.count <= 40 })
                #expect(
                    lines.prefix(2) == ["http://10.example:80            offline", "  refused 5 times"]
                        && lines.suffix(2) == ["and 10 more links: all offline (--all", "  shows them)"])
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `Ctrl-C on the terminal of up drains, and its workers finish their commands`() async throws {
            try await Installation.with { installation in
                let terminal = try Pseudoterminal()
                let up = try installation.start("up", "--workers", "1", terminal: terminal)
                try await installation.ready(workers: 1, up)
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":2000}"#).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                terminal.type("\u{3}")
                #expect(try await up.end(within: .seconds(30)) == .exited(0))
                #expect(terminal.output.contains("draining: "))
                let command = try #require(try store.command(id))
                #expect(command.status == .success && command.claim == 1)
            }
        }

        private func coordinator(_ installation: Installation) async throws -> Int32? {
            try await installation.status()?["coordinator"]?["pid"]?.integer.map { Int32($0) }
        }

        private func expect(_ screen: [String], fits columns: Int, _ rows: Int) throws {
            #expect(screen.count <= rows, "\(screen.joined(separator: "\n"))")
            for line in screen { #expect(line.count <= columns, "\(line)") }
        }
    }
}
