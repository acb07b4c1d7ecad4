internal import Commands
internal import Dispatch
internal import Glibc
internal import Sluice
internal import Store
internal import Wire
internal import ZeroMQ

/// Tells a running coordinator what has changed, and returns when it has left or 100 ms have passed. Without a
/// coordinator it does nothing; whatever fails here is made good by the sweep.
enum Hints {
    static func send(_ kind: Hint.Kind, _ ids: [CommandID] = [], in directory: DataDirectory) {
        guard LockProbe(path: directory.run + "/coordinator.lock").isHeld else { return }
        let descriptor = open(directory.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0, let context = try? Context(), let loop = try? PollLoop(name: "sluice-hint") else {
            return
        }
        let endpoint = Endpoint.ipc(directoryDescriptor: descriptor, name: "intake.sock")
        loop.perform {
            guard var sender = try? HintSender(endpoint, context: context, loop: loop) else { return }
            sender.send(kind, ids)
        }
        loop.stop()
        loop.join()
        context.terminate()
        close(descriptor)
    }
}
