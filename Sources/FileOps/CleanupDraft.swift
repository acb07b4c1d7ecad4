package import Commands
internal import S3
internal import Transfers

/// Makes the command that removes the remains of another one. Pure: it reads no file system but the mount table.
package enum CleanupDraft {
    /// With the backoff of at most an hour the last execution is some 7 hours after the first.
    private static let retryLimit = 12

    /// - Parameters:
    ///   - command: a command that has ended without using its checkpoint up.
    ///   - checkpoint: the checkpoint of its last execution.
    /// - Returns: nil where nothing is left, or the type of the command is not known to leave anything.
    package static func after(_ command: Command, payload: [UInt8], checkpoint: [UInt8]) -> CommandDraft? {
        guard !checkpoint.isEmpty, let value = try? JSONValue(parsing: payload),
            let remains = remains(of: command, value, checkpoint)
        else { return nil }
        let cleanup = CleanupPayload(remains)
        var draft = CommandDraft(
            type: CommandType.cleanup, payload: cleanup.json.bytes, destination: cleanup.destination, qos: .utility,
            idempotent: true)
        draft.retryLimit = retryLimit
        if case .upload(_, _, let abortedAt?) = remains { draft.notBefore = abortedAt + CleanupOperation.secondLook }
        return draft
    }

    private static func remains(
        of command: Command, _ payload: JSONValue, _ checkpoint: [UInt8]
    ) -> CleanupPayload.Remains? {
        switch command.type {
        case CommandType.s3:
            guard let put = try? S3Payload(payload), case .object = put.target,
                let saved = S3Checkpoint(checkpoint), let id = saved.uploadID
            else { return nil }
            return .upload(put, id: id, abortedAt: saved.abortedAt)
        case CommandType.download:
            guard var download = try? DownloadPayload(payload), let path = try? download.to.absolutePath() else {
                return nil
            }
            download.to = path
            return parts(of: download.target(contentDisposition: nil), command)
        case CommandType.upload:
            guard var upload = try? UploadPayload(payload), upload.to.scheme == .file else { return nil }
            do { try upload.resolveFile() } catch { return nil }
            upload.resolveDirectory()
            return parts(of: upload.to.filePath, command)
        default: return nil
        }
    }

    private static func parts(of target: String, _ command: Command) -> CleanupPayload.Remains? {
        guard command.claim > 0, target.beginsWithBytes(of: "/"), !target.endsWithBytes(of: "/") else { return nil }
        return .parts(target: target, of: command.id, maxClaim: command.claim)
    }
}
