internal import Commands
internal import Console
internal import Fetch
internal import FileOps
internal import Host
internal import Sync

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
