internal import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization

/// The log of uploads: one line for each, at its end.
extension UploadEngine {
    /// Logs that an upload has all its bytes.
    func logCompletion(of upload: Upload) { logEnd(of: upload, "complete") }

    /// Logs that an upload has ended before it had all its bytes.
    /// - Parameter wasComplete: its line is in the log already: it is a part that no final upload took, or stayed in the
    ///   spool and was removed.
    func logEnd(of upload: Upload, wasComplete: Bool) {
        if !wasComplete { logEnd(of: upload, upload.reason ?? "terminated") }
    }

    private func logEnd(of upload: Upload, _ ending: String) {
        let facts = upload.facts
        var metadata: Logger.Metadata = [
            "upload": "\(upload.id)", "ending": "\(ending)", "protocol": "\(facts.origin.rawValue)",
            "bytes": "\(upload.offset)", "created": "\(upload.createdAt)",
            "seconds": "\(max(store.clock.now() - upload.createdAt, .zero).seconds)",
        ]
        if let route = facts.route { metadata["route"] = "\(route)" }
        if let name = facts.fileName { metadata["name"] = "\(name.excerpt)" }
        if let token = facts.tokenName ?? facts.token { metadata["token"] = "\(token)" }
        // A command that has its unique key.
        if let command = upload.command, command != upload.id { metadata["command"] = "\(command)" }
        logger.info("An upload has ended", metadata: metadata)
    }
}
