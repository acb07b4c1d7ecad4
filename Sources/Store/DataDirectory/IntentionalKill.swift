internal import Glibc

/// A death that a supervisor orders counts for nobody, nor one of a worker that somebody had stopped: who kills it leaves a
/// note before, and whoever reaps the worker finds it, also when that is the next coordinator.
package enum IntentionalKill {
    private static let prefix = "ordered-"

    /// Call it before the signal. Where the note cannot be left, the death counts as any other.
    package static func note(directory: String, pid: Int32) {
        guard let start = ProcessIdentity.startTime(of: pid) else { return }
        let descriptor = open(path(directory, pid: pid, startTime: start), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    package static func isNoted(directory: String, _ session: Session) -> Bool {
        access(path(directory, pid: session.pid, startTime: session.startTime), F_OK) == 0
    }

    /// The commands of the dead worker are released.
    package static func remove(directory: String, _ session: Session) {
        unlink(path(directory, pid: session.pid, startTime: session.startTime))
    }

    /// Removes the notes of workers that are none of the sessions: they had nothing left to release.
    package static func removeStale(directory: String, sessions: [Session]) throws(StoreError) {
        let known = Set(sessions.map { path(directory, pid: $0.pid, startTime: $0.startTime) })
        for name in try DataDirectory.names(directory)
        where name.hasPrefix(prefix) && !known.contains("\(directory)/\(name)") {
            unlink("\(directory)/\(name)")
        }
    }

    private static func path(_ directory: String, pid: Int32, startTime: Int64) -> String {
        "\(directory)/\(prefix)\(pid)-\(startTime)"
    }
}
