internal import ArgumentParser
internal import Commands
internal import Console
internal import Fetch
internal import FileOps
internal import Host
internal import Membership
internal import Queue
internal import Sync

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

    func validate() throws {
        if let open = status.first(where: { !$0.isFinal }) {
            throw ValidationError("--status \(open) is not allowed: only commands that have ended are pruned.")
        }
    }

    func run() throws {
        SignalHandling.exits()
        let directory = data.directory()
        // Refused before anything is removed.
        if compact {
            if try data.location().isServer {
                throw ExitError(
                    .usage, "--compact is for the files of a data directory; a server vacuums its tables itself")
            }
            _ = try StoreCompaction(directory)
        }
        let (result, code) = try prune()
        let compacted = compact ? try Self.compact(directory) : nil
        Diagnostics.clearStatus()
        if print.json {
            Output.line(JSONValue.object(result.members + (compacted.map(Self.members) ?? [])).bytes)
        } else {
            for line in result.lines + (compacted.map(Self.lines) ?? []) { Output.line(line) }
        }
        guard let code else { return }
        Output.flush()
        for failure in result.failures { Diagnostics.say(failure.message ?? "") }
        throw ExitError(code, nil)
    }

    /// Compacts one shard after the other.
    /// - Returns: bytes of the files before and after.
    private static func compact(_ directory: DataDirectory) throws -> (before: Int64, after: Int64) {
        SignalHandling.exits { StoreCompaction.removeUnfinished(directory) }
        return try StoreCompaction(directory).run { shard, count in
            Diagnostics.showStatus { _ in "compacting shard \(shard + 1) of \(count)" }
        }
    }

    private static func lines(_ sizes: (before: Int64, after: Int64)) -> [String] {
        ["store compacted from \(Figures.bytes(sizes.before)) to \(Figures.bytes(sizes.after))"]
    }

    private static func members(_ sizes: (before: Int64, after: Int64)) -> [JSONValue.Member] {
        [.init("bytesBefore", .integer(sizes.before)), .init("bytesAfter", .integer(sizes.after))]
    }

    /// The removed data, for people and programs.
    private struct Pruned {
        var lines: [String]
        var members: [JSONValue.Member]
        var failures: [ExitError]
    }

    private func prune() throws -> (Pruned, ExitCode?) {
        let queue = try data.queue()
        let before = queue.now + .milliseconds(-olderThan.duration.milliseconds)
        let (total, failures) = try queue.prune(
            endedBefore: before, in: status.isEmpty ? [.success, .cancelled] : Set(status),
            cleanup: { CleanupDraft.after($0, payload: $1, checkpoint: $2) },
            progress: { shard, total in
                Diagnostics.showStatus { _ in
                    "shard \(shard + 1) of \(queue.shardCount), \(Figures.grouped(Int64(total))) removed"
                }
            })
        var leftovers = Leftovers(failures: failures.map(ExitError.init))
        leftovers.remove(queue.directory)
        let pruned = Pruned(
            lines: ["\(Figures.grouped(Int64(total))) command\(total == 1 ? "" : "s") removed"] + leftovers.lines,
            members: [.init("pruned", .integer(Int64(total)))] + leftovers.members, failures: leftovers.failures)
        return (pruned, leftovers.failures.first?.code)
    }
}

/// Removes the data that processes leave when they end before its use. Each kind is removed although another
/// one fails.
struct Leftovers {
    /// Records of pages that no sync goes on with.
    private var records: Int64 = 0
    /// Bodies of responses that no stored response has.
    private var bodies = 0
    private(set) var failures: [ExitError]

    init(failures: [ExitError]) { self.failures = failures }

    mutating func remove(_ directory: DataDirectory) {
        do { try SpooledCopies.sweep(directory.spool) } catch { failures.append(ExitError(error)) }
        do throws(CollectionError) {
            let pruned = try CollectionDirectory(data: directory.path).prune()
            records = pruned.records
            for (_, error) in pruned.failures { add(error) }
        } catch {
            add(error)
        }
        do {
            bodies = try ResponseCommand.store(directory)?.sweep() ?? 0
        } catch {
            failures.append(ExitError(error))
        }
    }

    private mutating func add(_ error: CollectionError) {
        failures.append(ExitError(CollectionCommand.code(error.problem), error.description))
    }

    /// The removed data, a sentence each.
    var lines: [String] {
        (records == 0 ? [] : ["\(Figures.grouped(records)) staged record\(records == 1 ? "" : "s") removed"])
            + (bodies == 0 ? [] : ["\(bodies) left-over bod\(bodies == 1 ? "y" : "ies") of responses removed"])
    }

    var members: [JSONValue.Member] {
        [.init("stagedRecords", .integer(records)), .init("responseBodies", .integer(Int64(bodies)))]
    }
}
