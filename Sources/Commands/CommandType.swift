/// Names of the types of commands that the built-in operations run.
package enum CommandType {
    package static let noop = "noop"
    package static let upload = "upload"
    package static let request = "request"
    package static let download = "download"
    package static let fetch = "fetch"
    package static let s3 = "s3"
    package static let sync = "sync"
    package static let webhook = "webhook"
    package static let exec = "exec"
    package static let cleanup = "cleanup"
    /// A flow. No worker runs it: it ends when its nodes have ended.
    package static let flow = "flow"
    /// A batch. No worker runs it: it ends when its members have ended.
    package static let batch = "batch"

    /// The direction in which commands of a type move most of their bytes. Types of other programs count as
    /// uploads until their executions report received bytes.
    package static func direction(of type: String) -> Direction {
        [download, fetch, sync].contains(type) ? .down : .up
    }

    /// The types whose commands may leave something that a `cleanup` removes.
    package static let leavingRemains: Set<String> = [download, s3, upload]

    /// All of them: what a new store accepts before any worker has registered.
    package static let builtIn: Set<String> = [
        cleanup, download, exec, fetch, noop, request, s3, sync, upload, webhook,
    ]
}

/// The direction of a transfer, seen from this host. The raw values are the words in events.
package enum Direction: String, Sendable, CaseIterable {
    case up
    case down

    /// The byte in frames.
    package var code: UInt8 { self == .up ? 0 : 1 }

    package init?(code: UInt8) {
        switch code {
        case 0: self = .up
        case 1: self = .down
        default: return nil
        }
    }
}
