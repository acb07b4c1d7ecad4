internal import Glibc
package import Host

/// The note that a worker is killed intentionally, so that its death charges no command: `up` kills its
/// workers, and the coordinator kills a worker that a signal has stopped.
///
/// The process that kills leaves the note in `run/` before. The coordinator that reaps the worker finds it,
/// even where it was started later.
package enum IntentionalKill {
    /// Leaves the note. Call it before the signal. Where the note cannot be written, the death counts like
    /// any other.
    package static func note(in run: RunDirectory, pid: Int32) {
        guard let start = ProcessIdentity.startTime(of: pid) else { return }
        let descriptor = open(run.intentionalKill(pid: pid, startTime: start), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    package static func isNoted(in run: RunDirectory, _ session: Session) -> Bool {
        access(run.intentionalKill(pid: session.pid, startTime: session.startTime), F_OK) == 0
    }
}
