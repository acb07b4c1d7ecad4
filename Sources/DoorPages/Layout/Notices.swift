internal import Commands
internal import Host
internal import Synchronization

/// The messages that a page shows once after an action. The redirect carries only a number: no text of a request comes back
/// in a page.
final class Notices: Sendable {
    struct Notice: Sendable, Equatable {
        var text: String
        /// It reports a refusal.
        var isProblem = false
    }

    private struct Entry {
        var notice: Notice
        var token: String
        var made: MonotonicTime
    }

    private static let maxCount = 256
    private static let lifetime: Duration = .seconds(300)

    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameter token: of the principal that may read it.
    /// - Returns: the id of the notice.
    func add(_ notice: Notice, for token: String) -> String {
        let id = String(UInt64.random(in: .min ... .max), radix: 36)
        entries.withLock { entries in
            let now = MonotonicTime.now
            entries = entries.filter { now - $0.value.made < Self.lifetime }
            if entries.count >= Self.maxCount, let oldest = entries.min(by: { $0.value.made < $1.value.made }) {
                entries[oldest.key] = nil
            }
            entries[id] = Entry(notice: notice, token: token, made: now)
        }
        return id
    }

    /// The notice, which is then gone.
    func take(_ id: String, for token: String) -> Notice? {
        entries.withLock { entries in
            guard let entry = entries[id], entry.token == token else { return nil }
            entries[id] = nil
            return entry.notice
        }
    }
}
