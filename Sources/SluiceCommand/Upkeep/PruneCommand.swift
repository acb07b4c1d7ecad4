internal import ArgumentParser
internal import Commands
internal import Console
internal import Operations
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

            EXAMPLES
              sluice prune
              sluice prune --older-than 12h
              sluice prune --older-than 30d --status tooManyTimes
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
        let (directory, store) = try data.store()
        let spool = Spool(directory: directory.spool)
        let before = Timestamp.now + .milliseconds(-olderThan.duration.milliseconds)
        let statuses: Set<CommandStatus> = status.isEmpty ? [.success, .cancelled] : Set(status)
        var leftovers = Leftovers()
        let total = pruneCommands(store, spool, statuses, before: before, &leftovers)
        leftovers.remove(directory, spool)
        Diagnostics.clearStatus()
        if print.json {
            Output.line(JSONValue.object([.init("pruned", .integer(Int64(total)))] + leftovers.members).bytes)
        } else {
            Output.line("\(Figures.grouped(Int64(total))) command\(total == 1 ? "" : "s") removed")
            for line in leftovers.lines { Output.line(line) }
        }
        guard let first = leftovers.failures.first else { return }
        Output.flush()
        for failure in leftovers.failures { Diagnostics.say(failure.message ?? "") }
        throw ExitError(first.code, nil)
    }

    private func pruneCommands(
        _ store: any CommandStore, _ spool: Spool, _ statuses: Set<CommandStatus>, before: Timestamp,
        _ leftovers: inout Leftovers
    ) -> Int {
        var total = 0
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                while true {
                    while try store.cleanUp(shard: shard, now: .now, limit: Self.cleanUpBatch, Self.cleanup) > 0 {}
                    let pruned = try store.prune(shard: shard, before: before, statuses: statuses, limit: Self.batch)
                    for payload in pruned.abandoned { spool.discard(stored: payload) }
                    if pruned.count == 0, pruned.held == 0 { break }
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
