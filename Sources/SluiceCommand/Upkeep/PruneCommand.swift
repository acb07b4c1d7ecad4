internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Operations
internal import Queue
internal import Store

struct PruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove old finished commands.",
        discussion: """
            Removes commands that succeeded or were cancelled longer ago than --older-than, with their payloads, results, \
            timelines and spooled copies. Dead letters and commands in doubt are removed only where --status names them. \
            It works in small batches, so it may run beside everything else. The coordinator does the same twice a \
            minute. It also removes the copies that a killed put --spool has left, pages of a collection that a sync has \
            staged and not merged, and bodies of fetch that no stored response has. Multipart uploads and part files of \
            the removed commands are left to commands of the type cleanup, which a worker executes.

            The files of the store do not become smaller: the room is used by later commands. --compact gives it back to \
            the file system. It writes each shard anew, one after the other, so it needs room for the largest one, and \
            everything else on the data directory must be stopped; a process that is not is named, and the exit code is 75.

            EXAMPLES
              sluice prune
              sluice prune --compact
              sluice prune --older-than 12h
              sluice prune --older-than 30d --status gaveUp
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: ArgumentHelp("Only commands that ended longer ago.", valueName: "duration"))
    var olderThan = DurationArgument(.seconds(7 * 86_400))

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Only commands in this status; may be given several times. (default: success, cancelled)",
            valueName: "status"))
    var status: [CommandStatus] = []

    @Flag(name: .long, help: "Make the files of the store smaller afterwards; everything else must be stopped.")
    var compact = false

    private static let batch = 500
    /// Each may have a payload of 1 MiB.
    private static let cleanUpBatch = 16

    private static func cleanup(_ leftover: Leftover) -> CommandDraft? {
        CleanupDraft.after(leftover.command, payload: leftover.payload, checkpoint: leftover.checkpoint)
    }

    func validate() throws {
        if let open = status.first(where: { !$0.isFinal }) {
            throw ValidationError("--status \(open) is not allowed: only commands that have ended are pruned.")
        }
    }

    func run() throws {
        SignalHandling.exits()
        let directory = data.directory()
        if compact { _ = try Compaction(directory) }
        let (result, code) = try prune()
        let compacted = compact ? try CompactionRun.compact(directory) : nil
        Diagnostics.clearStatus()
        if print.json {
            Output.line(JSONValue.object(result.members + (compacted?.members ?? [])).bytes)
        } else {
            for line in result.lines + (compacted?.lines ?? []) { Output.line(line) }
        }
        guard let code else { return }
        Output.flush()
        for failure in result.failures { Diagnostics.say(failure.message ?? "") }
        throw ExitError(code, nil)
    }

    /// The removed data, for people and programs.
    private struct Pruned {
        var lines: [String]
        var members: [JSONValue.Member]
        var failures: [ExitError]
    }

    private func prune() throws -> (Pruned, ExitCode?) {
        let (directory, store) = try data.store()
        if let hold = try store.clockHold() {
            throw ExitError(.tryAgain, "nothing is removed now: \(hold.sentence(now: .now))")
        }
        let spool = Spool(directory: directory.spool)
        let before = Timestamp.now + .milliseconds(-olderThan.duration.milliseconds)
        let statuses: Set<CommandStatus> = status.isEmpty ? [.success, .cancelled] : Set(status)
        var leftovers = Leftovers()
        let total = pruneCommands(store, spool, statuses, before: before, &leftovers)
        leftovers.remove(directory, spool)
        let pruned = Pruned(
            lines: ["\(Figures.grouped(Int64(total))) command\(total == 1 ? "" : "s") removed"] + leftovers.lines,
            members: [.init("pruned", .integer(Int64(total)))] + leftovers.members, failures: leftovers.failures)
        return (pruned, leftovers.failures.first?.code)
    }

    private func pruneCommands(
        _ store: any CommandStore, _ spool: Spool, _ statuses: Set<CommandStatus>, before: Timestamp,
        _ leftovers: inout Leftovers
    ) -> Int {
        var total = 0
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                var isRepeated = false
                while true {
                    while try store.cleanUp(shard: shard, now: .now, limit: Self.cleanUpBatch, Self.cleanup) > 0 {
                        isRepeated = false
                    }
                    let pruned = try store.prune(shard: shard, before: before, statuses: statuses, limit: Self.batch)
                    for payload in pruned.abandoned { spool.discard(stored: payload) }
                    // Those that were held are tried once more after a cleanup.
                    if pruned.isEnd, pruned.held == 0 || isRepeated { break }
                    isRepeated = pruned.isEnd
                    total += pruned.count
                    Diagnostics.showStatus { _ in
                        "shard \(shard + 1) of \(store.shardCount), \(Figures.grouped(Int64(total))) removed"
                    }
                }
            } catch {
                leftovers.failures.append(ExitError(error))
            }
        }
        return total
    }
}
