internal import Commands
internal import HTTPClient
internal import Synchronization

/// What this process has seen of destinations that refuse everything: redirects of all to one other place (a captive portal
/// or a site that moved), a refused credential, no room. It decides when a refusal is the destination's and no longer the
/// command's, and when a small request asks before a whole file is sent.
final class DestinationEvidence: Sendable {
    private struct Entry {
        /// Commands that were redirected to ``target``, with no other answer between.
        var redirected: Set<CommandID> = []
        var target: Destination?
        /// The last answer refused a command for the destination's own reason.
        var refuses = false
    }

    /// As many different commands as open the circuit breaker of a link.
    static let commandsToBlame = 3
    private static let maxDestinations = 1024

    private let entries = Mutex<[Destination: Entry]>([:])

    /// Takes in why a request of a command failed, and says whose fault it is. A redirect to another host is the command's
    /// at first, charged and tried again; to the same host it is final. From the third command on that is redirected to the
    /// same place it is the destination's.
    /// - Parameter target: where a redirect leads; nil for anything else.
    func judge(
        _ failure: Failure, of id: CommandID, at destination: Destination, redirectedTo target: Destination?
    ) -> Failure {
        entries.withLock { entries in
            var failure = failure
            var entry = entries[destination] ?? Entry()
            if let target {
                if target != entry.target { entry.redirected = [] }
                entry.target = target
                entry.redirected.insert(id)
                let isSameHost = HTTPOrigin(target)?.host == HTTPOrigin(destination)?.host
                failure.fault =
                    entry.redirected.count >= Self.commandsToBlame ? .destination : isSameHost ? .final : .command
            } else if failure.isAnswer {
                entry.redirected = []
            }
            switch failure.fault {
            case .destination, .credential: entry.refuses = true
            // It has not come to an answer of its own.
            case .link, .reset: break
            case .command, .final: entry.refuses = false
            }
            if entries.count >= Self.maxDestinations, entries[destination] == nil { entries = [:] }
            entries[destination] = entry
            return failure
        }
    }

    /// The destination has taken what it was sent.
    func accepted(_ destination: Destination) { entries.withLock { $0[destination] = nil } }

    /// The destination refused the last command for a reason of its own: a small request can tell whether it still does.
    func refuses(_ destination: Destination) -> Bool { entries.withLock { $0[destination]?.refuses ?? false } }
}
