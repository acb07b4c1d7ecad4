internal import Glibc
internal import Host

/// A death that a supervisor orders counts for nobody, nor one of a worker that somebody had stopped: who kills it leaves a
/// note before, and whoever reaps the worker finds it, also when that is the next coordinator.
package enum IntentionalKill {
    /// Call it before the signal. Where the note cannot be left, the death counts as any other.
    package static func note(in run: RunDirectory, pid: Int32) {
        guard let start = ProcessIdentity.startTime(of: pid) else { return }
        let descriptor = open(run.intentionalKill(pid: pid, startTime: start), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    package static func isNoted(in run: RunDirectory, _ session: Session) -> Bool {
        access(run.intentionalKill(pid: session.pid, startTime: session.startTime), F_OK) == 0
    }

    /// The commands of the dead worker are released.
    package static func remove(in run: RunDirectory, _ session: Session) {
        unlink(run.intentionalKill(pid: session.pid, startTime: session.startTime))
    }

    /// Removes the notes of workers that are none of the sessions: they had nothing left to release.
    package static func removeStale(in run: RunDirectory, sessions: [Session]) throws(StoreError) {
        let known = Set(sessions.map { run.intentionalKill(pid: $0.pid, startTime: $0.startTime) })
        for path in try run.files(prefix: RunDirectory.intentionalKillPrefix) where !known.contains(path) {
            unlink(path)
        }
    }
}
