internal import Commands
internal import Dispatch
internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Tells a running coordinator what has changed, and returns when it has left or 100 ms have passed. Without a
/// coordinator it does nothing; whatever fails here is made good by the sweep.
enum Hints {
    static func send(_ kind: Hint.Kind, _ ids: [CommandID] = [], in directory: DataDirectory) {
        guard directory.run.probe(.coordinator).isHeld else { return }
        guard let descriptor = try? openDirectory(directory.run.path), let context = try? Context(),
            let loop = try? PollLoop(name: "sluice-hint")
        else {
            return
        }
        let endpoint = Endpoint.ipc(directoryDescriptor: descriptor, name: RunDirectory.Socket.intake.name)
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

/// Hints of what a person has changed so far: sent at the end, also where a later change fails, and at Ctrl-C.
final class PendingHints: Sendable {
    private let directory: DataDirectory
    private let pending = Mutex<[(kind: Hint.Kind, id: CommandID)]>([])

    init(in directory: DataDirectory) {
        self.directory = directory
        SignalHandling.exits { [self] in send() }
    }

    func add(_ kind: Hint.Kind, _ id: CommandID) { pending.withLock { $0.append((kind, id)) } }

    func send() {
        let hints = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for kind in [Hint.Kind.cancelRequested, .changed] {
            let ids = hints.filter { $0.kind == kind }.map { $0.id }
            if !ids.isEmpty { Hints.send(kind, ids, in: directory) }
        }
    }
}
