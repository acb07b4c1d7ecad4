internal import Commands
internal import Host
internal import Store

extension WaitExplainer {
    /// The guardian of an earlier run of an `exec` holds the command's lock: a new run starts when everything
    /// that the earlier one has started has ended.
    /// - Parameter worker: the worker that executes the command now. The lock of its own guardian is not a
    ///   reason.
    func earlierRun(_ command: Command, beside worker: Session? = nil) -> WaitReason? {
        guard command.type == CommandType.exec else { return nil }
        let lock = LockProbe(path: queue.directory.run.execLock(command.id))
        guard lock.isHeld else { return nil }
        // A guardian is a child of its worker's launcher. The kernel may hide the holder of a lock.
        if let worker {
            guard let pid = lock.pid else { return nil }
            let launcher = ProcessIdentity.parent(of: pid)
            if launcher.flatMap(ProcessIdentity.parent(of:)) == worker.pid { return nil }
        }
        let guardian = lock.pid.map { "its guardian is process \($0)" } ?? "its guardian holds the lock"
        return WaitReason(
            "earlierRun", "an earlier run is still ending: \(guardian)", threshold: "no process of that run",
            remedy: "The guardian ends them by TERM, and after the grace of the command by KILL")
    }
}
