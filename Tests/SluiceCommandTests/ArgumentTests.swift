import ArgumentParser
import Commands
import Host
import Membership
import Queue
import TestSupport
import Testing

@testable import SluiceCommand

@Suite struct ArgumentTests {
    @Test(arguments: [
        ("500ms", 500), ("25s", 25_000), ("2m", 120_000), ("1h30m", 5_400_000), ("7d", 604_800_000), ("2.5", 2500),
    ])
    func `a duration is read in each of its units`(_ text: String, _ milliseconds: Int64) {
        #expect(DurationArgument(argument: text)?.duration == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "s", "-1s", "1w", "1s2", "10 m"])
    func `a text that is not a duration is refused`(_ text: String) {
        #expect(DurationArgument(argument: text) == nil)
    }

    @Test func `a rate is read in bits, in bytes, and as none`() {
        #expect(RateArgument(argument: "2Mbit")?.bytesPerSecond == 250_000)
        #expect(RateArgument(argument: "250kB")?.bytesPerSecond == 250_000)
        #expect(RateArgument(argument: "1000")?.bytesPerSecond == 1000)
        if case .none? = RateArgument(argument: "none") {} else { Issue.record("“none” is a rate") }
        for text in ["999", "fast", "2mb", "-1kB"] { #expect(RateArgument(argument: text) == nil, "\(text)") }
    }

    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("8MiB", 8 << 20), ("8 MB", 8_000_000), ("4GiB", 4 << 30), ("2TB", 2_000_000_000_000),
    ])
    func `a size is read in each of its units`(_ text: String, _ bytes: Int64) {
        #expect(SizeArgument(argument: text)?.bytes == bytes)
    }

    @Test(arguments: ["", "-1", "1.5MB", "4 gib", "MB", "9999999999999GB"])
    func `a text that is not a size is refused`(_ text: String) {
        #expect(SizeArgument(argument: text) == nil)
    }

    @Test func `a destination is the origin of any URL`() {
        #expect(DestinationArgument(argument: "https://host/a/b?c")?.destination.text == "https://host:443")
        for text in ["media", "ftp://host", ""] { #expect(DestinationArgument(argument: text) == nil, "\(text)") }
    }

    @Test func `a time is RFC 3339 or a duration from now`() throws {
        let time = try #require(TimeArgument(argument: "2026-03-01T12:34:56Z"))
        #expect(time.time == Timestamp(milliseconds: 1_772_368_496_000))
        let later = try #require(TimeArgument(argument: "10m"))
        #expect(later.time > Timestamp.now + .seconds(590))
        #expect(TimeArgument(argument: "tomorrow") == nil)
    }

    @Test func `a period of a unique key is kept, running or a time`() {
        #expect(UniquePeriod(text: "kept") == .kept)
        #expect(UniquePeriod(text: "running") == .running)
        #expect(UniquePeriod(text: "10m") == .duration(.seconds(600)))
        for text in ["", "0s", "ever"] { #expect(UniquePeriod(text: text) == nil, "\(text)") }
    }

    // MARK: Whole command lines

    private func exitCode(_ arguments: String...) -> Int32? {
        do {
            _ = try SluiceTool.parseAsRoot(arguments)
            return nil
        } catch {
            return SluiceTool.exitCode(for: error).rawValue
        }
    }

    @Test func `a complete command line is accepted`() throws {
        let command = try SluiceTool.parseAsRoot([
            "put", "a.bin", "--to", "https://host/in/", "--qos", "background", "--unique-key", "k", "--unique-for",
            "10m",
            "--not-before", "1h", "--header", "X-Tag: nightly", "--idempotent", "yes", "--wait",
        ])
        let put = try #require(command as? PutCommand)
        let options = put.fields.options
        #expect(options.qos == .background)
        #expect(options.uniqueKey == "k" && options.uniqueFor == .duration(.seconds(600)))
        #expect(options.idempotent == true)
        #expect(options.notBefore > .now)
        #expect(options.retryLimit == nil)
    }

    @Test func `options that contradict each other are refused as usage`() {
        #expect(exitCode("put", "a", "b", "--to", "https://host/x") == 64, "several files need a slash")
        #expect(exitCode("put", "a", "b", "--to", "https://host/", "--unique-key", "k") == 64)
        #expect(exitCode("put", "a", "--to", "https://host/", "--unique-for", "10m") == 64)
        #expect(exitCode("put", "a", "--to", "https://host/", "--spool", "--remove-source") == 64)
        #expect(exitCode("put", "a", "--to", "https://host/", "--header", "no colon") == 64)
        #expect(exitCode("submit", "noop", "-", "--payload", "{}") == 64)
        #expect(exitCode("submit", "NOOP") == 64)
        #expect(exitCode("submit", "noop", "--retry-limit", "-1") == 64)
        #expect(exitCode("status", CommandID().description, "--all") == 64)
        #expect(exitCode("network", "set", "https://host") == 64)
        #expect(exitCode("prune", "--status", "new") == 64)
        #expect(exitCode("bench", "queue", "--figure", "large") == 64)
        #expect(exitCode("up", "--workers", "257") == 64)
        #expect(exitCode("worker", "--concurrency", "0") == 64)
        #expect(exitCode("list", "--limit", "-1") == 64)
        #expect(exitCode("resolve", CommandID().description) == 64, "one of three flags is needed")
    }

    @Test func `filters that admit no status of a change select no command`() throws {
        let directory = try TemporaryDirectory("selection")
        defer { directory.remove() }
        let queue = try QueueAccess(opening: StoreLocation("\(directory.path)/data"), create: true)
        let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
        _ = queue.submit([draft], allowUnknownTypes: true)
        // A change of commands that wait, with a filter for those that have failed.
        let failed = try CommandSelection.parse(["--failed-within", "1h"])
        #expect(try failed.selected(qos: nil, statuses: [.new, .queued], queue, now: .now).ids.isEmpty)
        let recent = try CommandSelection.parse(["--newer-than", "1h"])
        #expect(try recent.selected(qos: nil, statuses: [.new, .queued], queue, now: .now).ids.count == 1)
    }

    @Test func `the help of every subcommand has examples`() {
        for command in SluiceTool.configuration.subcommands where command.configuration.shouldDisplay {
            let help = SluiceTool.helpMessage(for: command)
            #expect(help.contains("EXAMPLES"), "\(command.configuration.commandName ?? "")")
        }
    }
}
