internal import Commands
internal import Store
internal import Synchronization

/// The submissions that wait for the next commit.
final class SubmitQueue: Sendable {
    /// Drafts of one submission.
    struct Entry: Sendable {
        var drafts: [CommandDraft]
        var allowUnknownTypes: Bool
        /// Takes the results, in the order of the drafts.
        var resume: @Sendable ([Result<Submission, StoreError>]) -> Void
    }

    private let waiting = Mutex<[Entry]>([])

    /// - Returns: true where none waited before: a commit must be started.
    func add(_ entry: Entry) -> Bool {
        waiting.withLock { waiting in
            waiting.append(entry)
            return waiting.count == 1
        }
    }

    /// Commits what waits, in transactions of about `batch` drafts.
    /// - Parameters:
    ///   - clock: the time of the submits.
    ///   - committed: called after each commit, before the submissions hear of it.
    func commit(
        to store: any CommandStore, clock: () -> Timestamp, batch: Int,
        committed: ([CommandDraft], [Result<Submission, StoreError>], Timestamp) -> Void
    ) {
        let taken = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        var start = 0
        while start < taken.count {
            var end = start
            var count = 0
            let allowed = taken[start].allowUnknownTypes
            while end < taken.count, taken[end].allowUnknownTypes == allowed, end == start || count < batch {
                count += taken[end].drafts.count
                end += 1
            }
            let entries = taken[start..<end]
            let drafts = entries.count == 1 ? entries[start].drafts : entries.flatMap(\.drafts)
            let now = clock()
            let results = store.submit(drafts, allowUnknownTypes: allowed, now: now)
            committed(drafts, results, now)
            var position = 0
            for entry in entries {
                entry.resume(Array(results[position..<position + entry.drafts.count]))
                position += entry.drafts.count
            }
            start = end
        }
    }
}
