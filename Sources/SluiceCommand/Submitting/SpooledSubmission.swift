internal import BuiltIn
internal import Commands
internal import Console
internal import FileOps
internal import Host
internal import Operations
internal import Queue
internal import Synchronization

/// Submits commands for private copies of their files: `--spool` of `put` and of `s3 put`.
struct SpooledSubmission {
    let client: SluiceClient
    let type: String
    let files: [String]
    /// The payloads, in the order of the files.
    let payloads: [JSONValue]
    /// Makes the draft of a payload that names a copy.
    let draft: (_ payload: JSONValue) throws -> CommandDraft

    /// The operations that check a file before it is copied. Its size may not be known yet.
    static var registry: OperationRegistry {
        BuiltInOperations.registry(submission: .init(umask: SluiceTool.inheritedUmask, isSpooled: true))
    }

    /// Copies the files, and submits a command for each.
    /// - Parameter checked: the drafts of the files themselves. They identify the commands under their unique
    ///   keys, because each copy has another name.
    /// - Throws: the first refusal, after every copy without a command was deleted.
    func submit(_ checked: [CommandDraft], by printer: SubmissionPrinter) async throws -> [CommandID] {
        let spool = client.directory.spool
        do { try SpooledCopies.sweep(spool) } catch { Diagnostics.say(SluiceError(error).message) }
        let progress = Mutex(CopyProgress(files: checked.count, total: checked.map(\.total).clampedSum, now: .now))
        let copies = try SpooledCopies(in: spool, umask: SluiceTool.inheritedUmask, type: type) { bytes, files in
            guard let shown = progress.withLock({ $0.add(bytes: bytes, files: files, now: .now) }) else { return }
            let label = "copying  "
            Diagnostics.showStatus { label + ProgressBar.line(shown, columns: $0 - label.count) }
        }
        let count = files.count
        SignalHandling.exits {
            guard let published = copies.abandon() else { return }
            Diagnostics.clearStatus()
            guard published < count else { return }
            let submitted = published == 0 ? "nothing was" : "\(published) of \(count) files were"
            Diagnostics.say("\(submitted) submitted; the other copies are deleted")
        }
        var printer = printer
        printer.unused = { copies.discard($0) }
        let ids: [CommandID]
        do {
            let taken = try copies.take(payloads)
            Diagnostics.clearStatus()
            ids = try await printer.submit(labels: files) { places in
                try copies.publish(places, taken) { payloads in
                    try zip(payloads, checked[places]).map { payload, original in
                        var copy = try draft(payload)
                        copy.identity = original.identity ?? original.payload
                        copy.uniqueKey = original.uniqueKey
                        return copy
                    }
                }
            }
        } catch {
            Diagnostics.clearStatus()
            // Where Ctrl-C has deleted the copies, the process ends by the signal, not with this error.
            if copies.abandon() == nil { await SignalHandling.letExit() }
            throw error
        }
        _ = copies.abandon()
        return ids
    }
}
